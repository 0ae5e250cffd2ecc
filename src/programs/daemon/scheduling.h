// How the threads that lead the loop are scheduled: online work waits for every microsecond they
// do not run. They are real-time where that is wanted and permitted (libc/real_time.h), and have
// short slices in any case.
#pragma once

#include <chrono>

namespace gp::daemon {

// Once per process, before the others: a real-time thread that runs for `longest` without a pause
// is ordinary for the time of `penalty`. Whatever goes wrong in the loop, or whoever floods it, the
// machine's other programs get their CPU.
void limit_real_time(std::chrono::milliseconds longest = std::chrono::milliseconds(500),
                     std::chrono::milliseconds penalty = std::chrono::seconds(5));

// Of the calling thread. Cheap if nothing has changed for it since its last call.
void schedule_this_thread(bool real_time);

}  // namespace gp::daemon
