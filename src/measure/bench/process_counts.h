// What a process has and does, from /proc.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "libc/types.h"

namespace gp::bench {

struct ProcessCounts {
  u64 wakes = 0;      // times its main thread slept and was woken
  u64 cpu_ticks = 0;  // of all its threads
  u64 anonymous_kb = 0;
  u64 files = 0;
  u64 threads = 0;
};

Result<ProcessCounts> counts_of(pid_t pid);

}  // namespace gp::bench
