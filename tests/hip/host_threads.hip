// TEST: eight host threads use the device at once, each with streams, copies and memory of its own
// TIMEOUT: 120
// SANITIZE:
#include <thread>

#include "check.h"

__global__ void step(u32* data, u32 count, u32 salt) {
  const u32 i = global_thread();
  if (i < count)
    data[i] = data[i] * 1664525u + salt;
}

static void work(u32 id) {
  constexpr u32 kCount = 3000;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  for (u32 round = 0; round < 6; round++) {
    auto data = random_integers<u32>(kCount, id * 100 + round);
    std::vector<u32> want = data;
    u32* device;
    HIP(hipMalloc(reinterpret_cast<void**>(&device), kCount * 4));
    HIP(hipMemcpyAsync(device, data.data(), kCount * 4, hipMemcpyHostToDevice, stream));
    for (u32 k = 0; k < 5; k++) step<<<(kCount + 63) / 64, 64, 0, stream>>>(device, kCount, id + k);
    HIP(hipMemcpyAsync(data.data(), device, kCount * 4, hipMemcpyDeviceToHost, stream));
    HIP(hipStreamSynchronize(stream));
    for (u32 k = 0; k < 5; k++) {
      for (u32& value : want) value = value * 1664525u + id + k;
    }
    expect_equal(data, want, "thread's data");
    HIP(hipFree(device));
  }
  HIP(hipStreamDestroy(stream));
}

int main() {
  std::vector<std::thread> threads;
  for (u32 id = 0; id < 8; id++) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
  return pass("host threads");
}
