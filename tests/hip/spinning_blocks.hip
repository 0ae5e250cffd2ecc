// TEST: blocks of one kernel that wait for each other make progress while they fit the device
#include "check.h"

__global__ void relay(u32* turn, u32* order) {
  if (threadIdx.x != 0)
    return;
  // The last block starts: a device that ran blocks to completion in order would hang.
  const u32 me = gridDim.x - 1 - blockIdx.x;
  while (__hip_atomic_load(turn, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != me) {
    __builtin_amdgcn_s_sleep(1);
  }
  order[me] = blockIdx.x;
  __hip_atomic_store(turn, me + 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}

int main() {
  constexpr u32 kBlocks = 32;
  DeviceArray<u32> turn(1), order(kBlocks);
  turn.zero();
  relay<<<kBlocks, 64>>>(turn, order);
  finish();
  const auto got = order.read();
  for (u32 i = 0; i < kBlocks; i++)
    EXPECT(got[i] == kBlocks - 1 - i, "turn %u was block %u", i, got[i]);
  return pass("spinning blocks");
}
