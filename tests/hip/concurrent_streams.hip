// TEST: kernels of different streams run at the same time
#include "check.h"

// Each of the two waits for the other to have started: one after the other they never end.
__global__ void meet(u32* flags, u32 me) {
  if (threadIdx.x != 0)
    return;
  __hip_atomic_store(&flags[me], 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  while (__hip_atomic_load(&flags[1 - me], __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {
    __builtin_amdgcn_s_sleep(10);
  }
}

int main() {
  DeviceArray<u32> flags(2);
  hipStream_t streams[2];
  for (auto& stream : streams) HIP(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking));
  for (int round = 0; round < 5; round++) {
    flags.zero();
    HIP(hipDeviceSynchronize());
    for (u32 me = 0; me < 2; me++) meet<<<1, 64, 0, streams[me]>>>(flags, me);
    finish();
  }
  for (auto& stream : streams) HIP(hipStreamDestroy(stream));
  return pass("concurrent streams");
}
