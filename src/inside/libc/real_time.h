// A thread for which others wait, on a machine whose CPUs are busy. Libc only.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace gp {

// `thread` is a thread id; 0 is the calling thread.
inline int thread_policy(pid_t thread = 0) {
  return sched_getscheduler(thread) & ~SCHED_RESET_ON_FORK;
}
inline bool is_ordinary_thread(pid_t thread = 0) { return thread_policy(thread) == SCHED_OTHER; }
inline bool is_real_time_thread(pid_t thread = 0) {
  const int policy = thread_policy(thread);
  return policy == SCHED_RR || policy == SCHED_FIFO;
}

// Among threads of the ordinary policy one that wakes up runs at once only if it has had no more
// than its share lately. Else it waits for the next tick, up to 4 ms at 250 Hz, however short its
// slices and whatever its nice value (EEVDF, Linux 6.6 and later: an entity must be eligible). The
// lowest real-time priority comes before all of these, and after everything that is real-time for
// a reason of its own. Only for threads that run for microseconds at a time. Threads and processes
// that they start are ordinary again.
//
// False, and nothing changed: not permitted (CAP_SYS_NICE or RLIMIT_RTPRIO), or the thread has a
// policy that somebody chose for it.
inline bool enter_real_time(pid_t thread = 0) {
  sched_param lowest{};
  lowest.sched_priority = sched_get_priority_min(SCHED_RR);
  return is_ordinary_thread(thread) &&
         sched_setscheduler(thread, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0;
}

// For a thread that has entered. The flag needs a privilege to be taken back, and does no harm.
inline void leave_real_time(pid_t thread = 0) {
  const sched_param none{};
  sched_setscheduler(thread, SCHED_OTHER | SCHED_RESET_ON_FORK, &none);
}

}  // namespace gp
