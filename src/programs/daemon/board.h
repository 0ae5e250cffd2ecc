// What the daemon tells its guardian through shared memory: until when it must have acted. While
// nothing is stopped there is no deadline, and both sleep.
//
// The guardian looks again when the deadline it has seen has passed. So it is woken only out of the
// sleep that has no end: of the stops of a busy hour one in two seconds pays for that, and the
// others do not have it compete with the agents that they have woken.
#pragma once

#include <atomic>

#include "libc/types.h"

namespace gp::daemon {

struct Board {
  // CLOCK_MONOTONIC; 0: nothing is stopped. Written by the daemon, read by the guardian.
  std::atomic<u64> deadline_ns{0};
  // Written by the guardian before it looks at the deadline for the last time, read by the daemon
  // after it has written one: at least one of them sees what the other did.
  std::atomic<bool> guardian_sleeps{false};
};
static_assert(std::atomic<u64>::is_always_lock_free && std::atomic<bool>::is_always_lock_free);

}  // namespace gp::daemon
