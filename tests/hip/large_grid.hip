// TEST: a grid of many thousand blocks runs to its end
// TIMEOUT: 120
#include "check.h"

__global__ void sum_ids(unsigned long long* sum) {
  if (threadIdx.x == 0)
    atomicAdd(sum, static_cast<unsigned long long>(blockIdx.x) * 3 + 1);
}

int main() {
  constexpr unsigned long long kBlocks = 100'000;
  DeviceArray<unsigned long long> sum(1);
  sum.zero();
  sum_ids<<<kBlocks, 64>>>(sum);
  finish();
  const unsigned long long want = kBlocks * (kBlocks - 1) / 2 * 3 + kBlocks;
  EXPECT(sum.read()[0] == want, "the sum is %llu, expected %llu", sum.read()[0], want);
  return pass("large grid");
}
