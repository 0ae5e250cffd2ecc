// TEST: grids and blocks of one, two and three dimensions cover every point once
// BUILDS: O2 O0
#include "check.h"

__global__ void visit(u32* counts, u32* errors, uint3 size) {
  const u32 x = blockIdx.x * blockDim.x + threadIdx.x;
  const u32 y = blockIdx.y * blockDim.y + threadIdx.y;
  const u32 z = blockIdx.z * blockDim.z + threadIdx.z;
  if (threadIdx.x >= blockDim.x || threadIdx.y >= blockDim.y || threadIdx.z >= blockDim.z ||
      blockIdx.x >= gridDim.x || blockIdx.y >= gridDim.y || blockIdx.z >= gridDim.z) {
    atomicAdd(errors, 1u);
  }
  if (x < size.x && y < size.y && z < size.z) {
    atomicAdd(&counts[(z * size.y + y) * size.x + x], 1u);
  }
}

static void check(dim3 size, dim3 block) {
  const u32 points = size.x * size.y * size.z;
  DeviceArray<u32> counts(points), errors(1);
  counts.zero();
  errors.zero();
  const dim3 grid((size.x + block.x - 1) / block.x, (size.y + block.y - 1) / block.y,
                  (size.z + block.z - 1) / block.z);
  visit<<<grid, block>>>(counts, errors, make_uint3(size.x, size.y, size.z));
  finish();
  EXPECT(errors.read()[0] == 0, "%u threads with an index out of range", errors.read()[0]);
  expect_equal(counts.read(), std::vector<u32>(points, 1), "visits");
}

int main() {
  check(dim3(1), dim3(1));
  check(dim3(1000), dim3(64));
  check(dim3(777), dim3(100));
  check(dim3(999), dim3(1000));
  check(dim3(65, 33), dim3(16, 16));
  check(dim3(31, 7, 5), dim3(8, 4, 2));
  check(dim3(3, 50, 40), dim3(1, 3, 64));
  check(dim3(5, 1, 900), dim3(2, 1, 128));
  return pass("grid shapes");
}
