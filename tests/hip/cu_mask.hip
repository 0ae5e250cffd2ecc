// TEST: a stream with a CU mask runs its waves on the CUs of the mask alone
#include <set>

#include "check.h"

// HW_REG_HW_ID (4): wave 3:0, simd 5:4, pipe 7:6, cu 11:8, sh 12, se 14:13.
__global__ void where(u32* out) {
  const u32 id = __builtin_amdgcn_s_getreg((31 << 11) | 4);
  if (threadIdx.x == 0)
    out[blockIdx.x] = (id >> 8) & 0x7f;
  // Long enough that blocks cannot all take turns on one CU unless they must.
  for (u32 i = 0; i < 50; i++) __builtin_amdgcn_s_sleep(1);
}

static std::set<u32> cus_used(hipStream_t stream) {
  constexpr u32 kBlocks = 64;
  DeviceArray<u32> out(kBlocks);
  where<<<kBlocks, 256, 0, stream>>>(out);
  HIP(hipStreamSynchronize(stream));
  const auto got = out.read();
  return {got.begin(), got.end()};
}

int main() {
  hipStream_t all, masked;
  HIP(hipStreamCreate(&all));
  const u32 mask = 0x05;
  HIP(hipExtStreamCreateWithCUMask(&masked, 1, &mask));
  u32 read_back = 0;
  HIP(hipExtStreamGetCUMask(masked, 1, &read_back));
  EXPECT(read_back == mask, "the mask reads back as %#x", read_back);
  const size_t many = cus_used(all).size(), few = cus_used(masked).size();
  EXPECT(few <= 2, "the masked stream used %zu CUs", few);
  EXPECT(many > few, "without a mask %zu CUs were used, with one %zu", many, few);
  HIP(hipStreamDestroy(all));
  HIP(hipStreamDestroy(masked));
  return pass("CU mask");
}
