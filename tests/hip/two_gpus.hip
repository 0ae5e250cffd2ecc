// TEST: two GPUs work at once, each with its memory, and copy between them
// RUN: --gpus 2
#include "check.h"

__global__ void fill(u32* out, u32 salt) { out[global_thread()] = global_thread() * 3 + salt; }
__global__ void double_it(u32* data) { data[global_thread()] *= 2; }

int main() {
  int count;
  HIP(hipGetDeviceCount(&count));
  EXPECT(count == 2, "%d devices", count);
  constexpr u32 kCount = 4096;
  u32* memory[2];
  hipStream_t streams[2];
  for (int device = 0; device < 2; device++) {
    HIP(hipSetDevice(device));
    HIP(hipStreamCreate(&streams[device]));
    HIP(hipMalloc(reinterpret_cast<void**>(&memory[device]), kCount * 4));
  }
  for (int device = 0; device < 2; device++) {
    HIP(hipSetDevice(device));
    fill<<<kCount / 64, 64, 0, streams[device]>>>(memory[device], device * 100);
  }
  for (int device = 0; device < 2; device++) HIP(hipStreamSynchronize(streams[device]));

  // From GPU 0 to GPU 1, worked on there, and back.
  HIP(hipMemcpyPeer(memory[1], 1, memory[0], 0, kCount * 4));
  HIP(hipSetDevice(1));
  double_it<<<kCount / 64, 64, 0, streams[1]>>>(memory[1]);
  HIP(hipStreamSynchronize(streams[1]));
  HIP(hipMemcpyPeer(memory[0], 0, memory[1], 1, kCount * 4));
  std::vector<u32> got(kCount);
  HIP(hipMemcpy(got.data(), memory[0], kCount * 4, hipMemcpyDeviceToHost));
  for (u32 i = 0; i < kCount; i++) EXPECT(got[i] == i * 6, "element %u is %u", i, got[i]);
  for (int device = 0; device < 2; device++) HIP(hipFree(memory[device]));
  return pass("two GPUs");
}
