// TEST: a cooperative launch synchronizes its whole grid, many times
// TIMEOUT: 120
#include "check.h"
// After hip_runtime.h, on which this header of HIP 5.2 silently depends.
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

constexpr u32 kRounds = 20;

// Every round each block reads what its neighbour wrote in the round before.
__global__ void rounds(u32* cells, u32* errors) {
  cg::grid_group grid = cg::this_grid();
  for (u32 round = 1; round <= kRounds; round++) {
    if (threadIdx.x == 0)
      cells[(round % 2) * gridDim.x + blockIdx.x] = round * 1000 + blockIdx.x;
    grid.sync();
    const u32 neighbour = (blockIdx.x + 1) % gridDim.x;
    const u32 seen = __hip_atomic_load(&cells[(round % 2) * gridDim.x + neighbour],
                                       __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
    if (seen != round * 1000 + neighbour)
      atomicAdd(errors, 1u);
    grid.sync();
  }
}

int main() {
  hipDeviceProp_t properties;
  HIP(hipGetDeviceProperties(&properties, 0));
  EXPECT(properties.cooperativeLaunch == 1, "the device does not offer cooperative launch");
  int per_cu = 0;
  HIP(hipOccupancyMaxActiveBlocksPerMultiprocessor(&per_cu, rounds, 128, 0));
  const u32 blocks = static_cast<u32>(properties.multiProcessorCount) * (per_cu > 2 ? 2 : per_cu);
  DeviceArray<u32> cells(2 * blocks), errors(1);
  cells.zero();
  errors.zero();
  u32 *cells_pointer = cells, *errors_pointer = errors;
  void* arguments[] = {&cells_pointer, &errors_pointer};
  HIP(hipLaunchCooperativeKernel(reinterpret_cast<void*>(rounds), dim3(blocks), dim3(128),
                                 arguments, 0, nullptr));
  finish();
  EXPECT(errors.read()[0] == 0, "%u reads came too early", errors.read()[0]);
  return pass("cooperative launch with grid sync");
}
