// TEST: clock64 and wall_clock64 run forward; wall_clock64 counts real time at 100 MHz
#include <time.h>

#include "check.h"

#ifndef __HIP_DEVICE_COMPILE__
__device__ long long wall_clock64();  // this HIP declares it for the device pass alone
#endif

__global__ void read_clocks(u64* out) {
  const u64 cycles = clock64(), wall = static_cast<u64>(wall_clock64());
  for (int i = 0; i < 100; i++) __builtin_amdgcn_s_sleep(10);
  out[0] = clock64() - cycles;
  out[1] = static_cast<u64>(wall_clock64()) - wall;
  out[2] = wall;
}

static double seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

int main() {
  DeviceArray<u64> out(3);
  read_clocks<<<1, 1>>>(out);
  finish();
  double before = seconds();
  read_clocks<<<1, 1>>>(out);
  finish();
  double after_first = seconds();
  const auto first = out.read();
  EXPECT(first[0] > 0 && first[0] < ~0ull / 2, "clock64 went by %llu",
         (unsigned long long)first[0]);
  EXPECT(first[1] > 0 && first[1] < ~0ull / 2, "wall_clock64 went by %llu",
         (unsigned long long)first[1]);
  // The host's interval between the same points, seen from outside and from inside.
  double before_second = seconds();
  read_clocks<<<1, 1>>>(out);
  finish();
  double after = seconds();
  const double wall = static_cast<double>(out.read()[2] - first[2]) / 1e8;
  EXPECT(wall <= after - before && wall >= before_second - after_first,
         "%.6f s by the device, between %.6f and %.6f by the host", wall,
         before_second - after_first, after - before);
  return pass("clocks");
}
