// TEST: float and double atomic adds lose no update, in device, host and LDS memory
// BUILDS: O2 fast
#include "check.h"

// Small integers: the sums are exact in any order.
__global__ void add(float* f, double* d, float* f_old) {
  const u32 i = global_thread();
  f_old[i] = atomicAdd(f, 1.0f);
  atomicAdd(d, static_cast<double>(i % 97));
#ifdef __gfx90a__
  unsafeAtomicAdd(f + 1, static_cast<float>(i % 7));
  unsafeAtomicAdd(d + 1, static_cast<double>(i % 11));
#else
  atomicAdd(f + 1, static_cast<float>(i % 7));
  atomicAdd(d + 1, static_cast<double>(i % 11));
#endif
}

__global__ void add_shared(float* f, double* d) {
  __shared__ float block_f;
  __shared__ double block_d;
  if (threadIdx.x == 0) {
    block_f = 0;
    block_d = 0;
  }
  __syncthreads();
  atomicAdd(&block_f, 0.5f);
  atomicAdd(&block_d, 0.25);
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(f, block_f);
    atomicAdd(d, block_d);
  }
}

int main() {
  constexpr u32 kBlocks = 12, kThreads = 128, kAll = kBlocks * kThreads;
  DeviceArray<float> f(2), old(kAll);
  DeviceArray<double> d(2);
  f.zero();
  d.zero();
  add<<<kBlocks, kThreads>>>(f, d, old);
  finish();
  double want_d0 = 0, want_d1 = 0;
  float want_f1 = 0;
  for (u32 i = 0; i < kAll; i++) {
    want_d0 += i % 97;
    want_d1 += i % 11;
    want_f1 += static_cast<float>(i % 7);
  }
  expect_equal(f.read(), {static_cast<float>(kAll), want_f1}, "float");
  expect_equal(d.read(), {want_d0, want_d1}, "double");
  std::vector<u32> seen(kAll, 0);
  for (float value : old.read()) seen.at(static_cast<u32>(value))++;
  for (u32 i = 0; i < kAll; i++) EXPECT(seen[i] == 1, "add returned %u %u times", i, seen[i]);

  float* host_f;
  double* host_d;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&host_f), 2 * sizeof(float)));
  HIP(hipHostMalloc(reinterpret_cast<void**>(&host_d), 2 * sizeof(double)));
  host_f[0] = 0;
  host_d[0] = 0;
  add_shared<<<kBlocks, kThreads>>>(host_f, host_d);
  finish();
  EXPECT(host_f[0] == kAll * 0.5f && host_d[0] == kAll * 0.25, "host sums are %g and %g", host_f[0],
         host_d[0]);
  return pass("float atomics");
}
