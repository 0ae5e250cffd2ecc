// TEST: more queues than slots take turns; all make progress and all results are right
// RUN: --hqds 4
// LABELS: preempt
// TIMEOUT: 240
// ENV: GPU_MAX_HW_QUEUES=16
// SANITIZE:
#include "check.h"

// Every kernel waits for all others to have begun a round: with 4 slots for 16 queues that needs
// the device to take turns.
__global__ void in_step(u32* arrived, u32* out, u32 kernels, u32 rounds) {
  __shared__ u32 scratchpad[64];
  scratchpad[threadIdx.x] = threadIdx.x;
  for (u32 round = 1; round <= rounds; round++) {
    if (threadIdx.x == 0) {
      atomicAdd(arrived, 1u);
      while (__hip_atomic_load(arrived, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) <
             round * kernels) {
        __builtin_amdgcn_s_sleep(10);
      }
    }
    __syncthreads();
    scratchpad[threadIdx.x] = scratchpad[(threadIdx.x + 1) % 64] * 3 + round;
    __syncthreads();
  }
  out[threadIdx.x] = scratchpad[threadIdx.x];
}

int main() {
  constexpr u32 kStreams = 16, kRounds = 4;
  std::vector<hipStream_t> streams(kStreams);
  for (auto& stream : streams) HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  DeviceArray<u32> arrived(1), out(kStreams * 64);
  arrived.zero();
  HIP(hipDeviceSynchronize());
  for (u32 i = 0; i < kStreams; i++) {
    in_step<<<1, 64, 0, streams[i]>>>(arrived, out + i * 64, kStreams, kRounds);
  }
  finish();
  const auto got = out.read();
  for (u32 i = 64; i < kStreams * 64; i++) {
    EXPECT(got[i] == got[i % 64], "out[%u] is %u, not %u", i, got[i], got[i % 64]);
  }
  for (auto& stream : streams) HIP(hipStreamDestroy(stream));
  return pass("oversubscribed queues take turns");
}
