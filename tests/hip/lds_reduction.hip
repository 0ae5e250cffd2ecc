// TEST: a tree reduction in LDS with barriers sums every block
// BUILDS: O2 O0 fast
#include "check.h"

__global__ void reduce(const u32* in, u32* out, u32 count) {
  __shared__ u32 partial[256];
  const u32 i = global_thread();
  partial[threadIdx.x] = i < count ? in[i] : 0;
  __syncthreads();
  for (u32 step = blockDim.x / 2; step > 0; step /= 2) {
    if (threadIdx.x < step)
      partial[threadIdx.x] += partial[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = partial[0];
}

int main() {
  constexpr u32 kCount = 50'001, kBlocks = (kCount + 255) / 256;
  const auto in = random_integers<u32>(kCount);
  DeviceArray<u32> device_in(in), device_out(kBlocks);
  reduce<<<kBlocks, 256>>>(device_in, device_out, kCount);
  finish();
  std::vector<u32> want(kBlocks, 0);
  for (u32 i = 0; i < kCount; i++) want[i / 256] += in[i];
  expect_equal(device_out.read(), want, "block sum");
  return pass("LDS reduction");
}
