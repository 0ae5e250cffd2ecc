// A thread that runs for microseconds and must not wait for them. Libc only.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libc/types.h"

namespace gp {

// From Linux 6.12 on a thread of the ordinary policy may ask for shorter slices than the default
// of about 3 ms (sched(7), sched_runtime of SCHED_OTHER): it gets no more time than others, but it
// gets it sooner after a wake-up, on a busy machine too. Needs no privilege. Older kernels ignore
// it, and what fails only costs latency: nothing to report. A thread preempts at its wake-up only
// those with longer slices than its own; one that has shorter ones already keeps them.
constexpr u64 kShortestSliceNs = 100'000;  // the least there is

inline void ask_for_short_slices(u64 slice_ns = kShortestSliceNs) {
  struct {  // struct sched_attr of linux/sched/types.h, its first version
    u32 size = 48;
    u32 policy = SCHED_OTHER;
    u64 flags = 0;
    i32 nice = 0;
    u32 priority = 0;
    u64 runtime_ns = 0;
    u64 deadline_ns = 0;
    u64 period_ns = 0;
  } attributes;
  static_assert(sizeof attributes == 48);
  // The nice value is part of it: it stays what it is.
  if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0 ||
      attributes.policy != SCHED_OTHER ||
      (attributes.runtime_ns != 0 && attributes.runtime_ns <= slice_ns)) {
    return;
  }
  attributes.size = sizeof attributes;
  attributes.flags = 0;
  attributes.runtime_ns = slice_ns;
  syscall(SYS_sched_setattr, 0, &attributes, 0);
}

}  // namespace gp
