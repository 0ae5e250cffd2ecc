// The clock of all deadlines and time stamps that processes share. Libc only.
#pragma once

#include <time.h>

#include "libc/types.h"

namespace gp {

inline u64 clock_ns(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<u64>(now.tv_sec) * 1'000'000'000 + static_cast<u64>(now.tv_nsec);
}

inline u64 monotonic_ns() { return clock_ns(CLOCK_MONOTONIC); }

}  // namespace gp
