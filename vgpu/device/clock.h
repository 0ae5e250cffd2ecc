// The GPU's clock: 100 MHz, from CLOCK_MONOTONIC_RAW. Signal time stamps, s_memrealtime and
// GET_CLOCK_COUNTERS must all read this one clock: HIP converts between them.
#pragma once

#include <time.h>

#include "memory/page_table.h"

namespace vgpu::device {

inline u64 now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<u64>(t.tv_sec) * 1'000'000'000u + static_cast<u64>(t.tv_nsec);
}
inline u64 gpu_clock() { return now_ns() / 10; }

}  // namespace vgpu::device
