// TEST: streams of all priorities run side by side and give right results
#include "check.h"

__global__ void iterate(u32* data, u32 rounds) {
  u32 x = data[global_thread()];
  for (u32 i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u;
  data[global_thread()] = x;
}

int main() {
  int least, greatest;
  HIP(hipDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT(greatest < least, "the priority range is %d..%d", least, greatest);
  constexpr u32 kThreads = 512, kRounds = 300;
  std::vector<hipStream_t> streams;
  std::vector<DeviceArray<u32>*> arrays;
  const auto start = random_integers<u32>(kThreads);
  for (int priority = greatest; priority <= least; priority++) {
    hipStream_t stream;
    HIP(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority));
    int got;
    HIP(hipStreamGetPriority(stream, &got));
    EXPECT(got == priority, "asked for %d, got %d", priority, got);
    streams.push_back(stream);
    arrays.push_back(new DeviceArray<u32>(start));
  }
  for (int launch = 0; launch < 5; launch++) {
    for (size_t i = 0; i < streams.size(); i++) {
      iterate<<<kThreads / 64, 64, 0, streams[i]>>>(*arrays[i], kRounds);
    }
  }
  std::vector<u32> want = start;
  for (u32& x : want) {
    for (u32 i = 0; i < 5 * kRounds; i++) x = x * 1664525u + 1013904223u;
  }
  for (size_t i = 0; i < streams.size(); i++) {
    HIP(hipStreamSynchronize(streams[i]));
    expect_equal(arrays[i]->read(), want, "result");
    HIP(hipStreamDestroy(streams[i]));
    delete arrays[i];
  }
  return pass("priority streams");
}
