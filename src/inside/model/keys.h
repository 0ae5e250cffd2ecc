// What names a process and a queue for good.
#pragma once

#include <sys/types.h>

#include <compare>

#include "libc/types.h"

namespace gp {

// A process, safe against pid reuse. `pid` is the one of our own pid namespace.
struct ProcessKey {
  pid_t pid = 0;
  u64 start_time = 0;  // field 22 of /proc/<pid>/stat, clock ticks since boot; 0 if unknown
  auto operator<=>(const ProcessKey&) const = default;
};

// A queue. KFD's ids are small, per process and used again: an id alone never names a queue.
struct QueueKey {
  ProcessKey process;
  u32 queue_id = 0;
  auto operator<=>(const QueueKey&) const = default;
};

}  // namespace gp
