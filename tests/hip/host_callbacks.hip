// TEST: callbacks in a stream run at their place between the kernels
#include <atomic>

#include "check.h"

__global__ void increment(u32* cell) { atomicAdd(cell, 1u); }

struct Record {
  const u32* cell;
  std::atomic<u32> seen{~0u};
};

static void note(hipStream_t, hipError_t status, void* data) {
  auto* record = static_cast<Record*>(data);
  EXPECT(status == hipSuccess, "the callback got %s", hipGetErrorString(status));
  record->seen = __atomic_load_n(record->cell, __ATOMIC_ACQUIRE);
}

int main() {
  u32* cell;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&cell), 4));
  *cell = 0;
  hipStream_t stream;
  HIP(hipStreamCreate(&stream));
  Record first{cell}, second{cell};
  increment<<<1, 64, 0, stream>>>(cell);
  HIP(hipStreamAddCallback(stream, note, &first, 0));
  increment<<<1, 64, 0, stream>>>(cell);
  HIP(hipStreamAddCallback(stream, note, &second, 0));
  HIP(hipStreamSynchronize(stream));
  // hipStreamSynchronize does not promise that a callback has returned.
  while (second.seen == ~0u) {
  }
  EXPECT(first.seen == 64, "the first callback saw %u", first.seen.load());
  EXPECT(second.seen == 128, "the second callback saw %u", second.seen.load());
  HIP(hipStreamDestroy(stream));
  HIP(hipHostFree(cell));
  return pass("callbacks");
}
