// Time that goes on at its own pace and means the same in all processes of the machine.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>

inline std::uint64_t monotonic_us() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000;
}

// Returns at once if the moment has passed; false if a signal came first.
inline bool sleep_until_us(std::uint64_t moment) {
  const timespec until = {static_cast<time_t>(moment / 1000000),
                          static_cast<long>(moment % 1000000 * 1000)};
  return clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr) != EINTR;
}
