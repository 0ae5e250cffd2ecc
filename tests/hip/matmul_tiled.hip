// TEST: an LDS-tiled matrix product equals the CPU's, rounding for rounding
// BUILDS: O2 O0 fast
#include "check.h"

constexpr u32 kTile = 16, kSize = 96;

__global__ void multiply(const float* a, const float* b, float* c) {
  __shared__ float tile_a[kTile][kTile], tile_b[kTile][kTile];
  const u32 row = blockIdx.y * kTile + threadIdx.y, column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0;
  for (u32 t = 0; t < kSize / kTile; t++) {
    tile_a[threadIdx.y][threadIdx.x] = a[row * kSize + t * kTile + threadIdx.x];
    tile_b[threadIdx.y][threadIdx.x] = b[(t * kTile + threadIdx.y) * kSize + column];
    __syncthreads();
    for (u32 k = 0; k < kTile; k++) sum = fmaf(tile_a[threadIdx.y][k], tile_b[k][threadIdx.x], sum);
    __syncthreads();
  }
  c[row * kSize + column] = sum;
}

int main() {
  const auto a = random_floats(kSize * kSize, -1, 1, 1), b = random_floats(kSize * kSize, -1, 1, 2);
  DeviceArray<float> device_a(a), device_b(b), device_c(kSize * kSize);
  multiply<<<dim3(kSize / kTile, kSize / kTile), dim3(kTile, kTile)>>>(device_a, device_b,
                                                                       device_c);
  finish();
  std::vector<float> want(kSize * kSize);
  for (u32 y = 0; y < kSize; y++) {
    for (u32 x = 0; x < kSize; x++) {
      float sum = 0;
      for (u32 k = 0; k < kSize; k++) sum = std::fma(a[y * kSize + k], b[k * kSize + x], sum);
      want[y * kSize + x] = sum;
    }
  }
  const auto got = device_c.read();
  for (u32 i = 0; i < kSize * kSize; i++) {
    // -ffast-math may sum in another order.
    EXPECT(std::fabs(got[i] - want[i]) < 1e-4f, "c[%u] is %g, expected %g", i, got[i], want[i]);
  }
#ifndef __FAST_MATH__
  expect_equal(got, want, "c");
#endif
  return pass("tiled matrix product");
}
