// Kernels of the HSA programs, compiled to a plain code object per GPU (no HIP runtime involved).
#include <hip/hip_runtime.h>

using u32 = unsigned;

// Stores its argument: the smallest kernel with an effect.
extern "C" __global__ void store_value(u32* out, u32 value) {
  if (threadIdx.x == 0)
    *out = value;
}

// Raises its own flag, then waits until `target` flags of the whole group were raised.
extern "C" __global__ void meet(u32* arrived, u32 target) {
  if (threadIdx.x != 0)
    return;
  __hip_atomic_fetch_add(arrived, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
  while (__hip_atomic_load(arrived, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) < target) {
    __builtin_amdgcn_s_sleep(4);
  }
}

// Holds its CU until the host says go.
extern "C" __global__ void hold(u32* started, const u32* go) {
  if (threadIdx.x == 0) {
    __hip_atomic_fetch_add(started, 1u, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
    while (__hip_atomic_load(go, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
      __builtin_amdgcn_s_sleep(4);
    }
  }
  __syncthreads();
}

// Notes the order in which kernels ran: order[n++] = value.
extern "C" __global__ void note_order(u32* count, u32* order, u32 value) {
  if (threadIdx.x == 0) {
    order[__hip_atomic_fetch_add(count, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM)] = value;
  }
}

// Counts in memory the host sees, until told to stop.
extern "C" __global__ void count_until(const u32* stop, u32* counter) {
  if (threadIdx.x != 0)
    return;
  while (__hip_atomic_load(stop, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM) == 0) {
    __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
  }
}

// A long computation in registers, checked on the host.
extern "C" __global__ void iterate(u32* data, u32 rounds) {
  const u32 i = blockIdx.x * blockDim.x + threadIdx.x;
  u32 x = data[i];
  for (u32 round = 0; round < rounds; round++) x = x * 1664525u + 1013904223u;
  data[i] = x;
}
