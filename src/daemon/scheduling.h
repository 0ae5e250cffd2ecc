// How the threads that lead the loop are scheduled: online work waits for every microsecond they
// do not run. They are real-time where that is wanted and permitted (base/real_time.h), and have
// short slices in any case.
#pragma once

namespace gp::daemon {

// Once per process, before the others: a real-time thread that runs for half a second without a
// pause is ordinary from then on. Whatever goes wrong in the loop, or whoever floods it, the
// machine's other programs get their CPU.
void limit_real_time();

// Of the calling thread. Cheap if nothing has changed for it since its last call.
void schedule_this_thread(bool real_time);

}  // namespace gp::daemon
