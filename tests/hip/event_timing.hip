// TEST: events measure the time their kernels took, on the same clock as the kernel's own
#include <time.h>

#include "check.h"

#ifndef __HIP_DEVICE_COMPILE__
__device__ long long wall_clock64();  // this HIP declares it for the device pass alone
#endif

// Runs for a number of ticks of the 100 MHz clock.
__global__ void spin(u64 ticks, u64* taken) {
  const u64 start = static_cast<u64>(wall_clock64());
  while (static_cast<u64>(wall_clock64()) - start < ticks) __builtin_amdgcn_s_sleep(10);
  if (threadIdx.x == 0)
    *taken = static_cast<u64>(wall_clock64()) - start;
}

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int main() {
  DeviceArray<u64> taken(1);
  hipEvent_t start, stop;
  HIP(hipEventCreate(&start));
  HIP(hipEventCreate(&stop));
  spin<<<1, 64>>>(1, taken);  // loads the code
  finish();
  const double before = seconds();
  HIP(hipEventRecord(start));
  spin<<<1, 64>>>(5'000'000, taken);  // 50 ms
  HIP(hipEventRecord(stop));
  HIP(hipEventSynchronize(stop));
  const double host_ms = (seconds() - before) * 1e3;
  float event_ms = 0;
  HIP(hipEventElapsedTime(&event_ms, start, stop));
  const double device_ms = static_cast<double>(taken.read()[0]) / 1e5;
  EXPECT(device_ms >= 50, "the kernel spun %.3f ms", device_ms);
  EXPECT(event_ms >= device_ms * 0.999, "events say %.3f ms, the kernel %.3f", event_ms, device_ms);
  EXPECT(event_ms <= host_ms, "events say %.3f ms, the host saw %.3f", event_ms, host_ms);
  HIP(hipEventDestroy(start));
  HIP(hipEventDestroy(stop));
  return pass("event timing");
}
