// What the daemon tells its guardian through shared memory: until when it must have acted. While
// nothing is stopped there is no deadline, and both sleep.
#pragma once

#include <atomic>

#include "base/types.h"

namespace gp::daemon {

struct Board {
  // CLOCK_MONOTONIC; 0: nothing is stopped. Written by the daemon, read by the guardian.
  std::atomic<u64> deadline_ns{0};
};
static_assert(std::atomic<u64>::is_always_lock_free);

}  // namespace gp::daemon
