// TEST: an allocation beyond the VRAM fails with hipErrorOutOfMemory and nothing else breaks
#include "check.h"

__global__ void fill(u32* out) { out[global_thread()] = global_thread(); }

int main() {
  void* too_much = nullptr;
  EXPECT(hipMalloc(&too_much, size_t{64} << 30) == hipErrorOutOfMemory, "64 GiB were given");
  std::vector<void*> blocks;
  constexpr size_t kBlock = size_t{256} << 20;
  for (;;) {
    void* block = nullptr;
    const hipError_t error = hipMalloc(&block, kBlock);
    if (error == hipErrorOutOfMemory)
      break;
    HIP(error);
    blocks.push_back(block);
    EXPECT(blocks.size() <= 16, "more memory was given than the device has");
  }
  EXPECT(blocks.size() >= 12, "only %zu blocks of 256 MiB fit", blocks.size());
  (void)hipGetLastError();
  HIP(hipFree(blocks.back()));
  blocks.pop_back();
  DeviceArray<u32> out(1024);
  fill<<<16, 64>>>(out);
  finish();
  EXPECT(out.read()[1023] == 1023, "the kernel after the failure went wrong");
  for (void* block : blocks) HIP(hipFree(block));
  return pass("out of memory");
}
