// TEST: managed memory is shared by host and kernels without copies
#include "check.h"

__managed__ u32 total;

__global__ void square(u64* data, u32 count) {
  const u32 i = global_thread();
  if (i >= count)
    return;
  data[i] = data[i] * data[i];
  atomicAdd(&total, 1u);
}

int main() {
  constexpr u32 kCount = 3000;
  u64* data;
  HIP(hipMallocManaged(reinterpret_cast<void**>(&data), kCount * sizeof(u64)));
  for (int round = 0; round < 3; round++) {
    for (u32 i = 0; i < kCount; i++) data[i] = i + round;
    total = 0;
    square<<<(kCount + 127) / 128, 128>>>(data, kCount);
    finish();
    for (u64 i = 0; i < kCount; i++) {
      EXPECT(data[i] == (i + round) * (i + round), "data[%llu] is %llu", (unsigned long long)i,
             (unsigned long long)data[i]);
    }
    EXPECT(total == kCount, "total is %u", total);
  }
  HIP(hipFree(data));
  return pass("managed memory");
}
