// TEST: a vector add gives what the CPU gives
// BUILDS: O2 O0 fast
// SANITIZE:
#include "check.h"

__global__ void add(const float* a, const float* b, float* sum, u32 count) {
  const u32 i = global_thread();
  if (i < count)
    sum[i] = a[i] + b[i];
}

int main() {
  constexpr u32 kCount = 100'003;  // not a multiple of the block
  const auto a = random_floats(kCount, -1e3f, 1e3f, 1);
  const auto b = random_floats(kCount, -1e3f, 1e3f, 2);
  DeviceArray<float> device_a(a), device_b(b), device_sum(kCount);
  add<<<(kCount + 255) / 256, 256>>>(device_a, device_b, device_sum, kCount);
  finish();
  std::vector<float> want(kCount);
  for (u32 i = 0; i < kCount; i++) want[i] = a[i] + b[i];
  expect_equal(device_sum.read(), want, "sum");
  return pass("vector add");
}
