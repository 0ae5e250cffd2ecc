// TEST: streams wait for values in memory and write them
#include "check.h"

__global__ void add(u32* cell, u32 value) { *cell += value; }

int main() {
  u64* flags;
  HIP(hipExtMallocWithFlags(reinterpret_cast<void**>(&flags), 8, hipMallocSignalMemory));
  u32* cell;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&cell), 4));
  *cell = 1;
  hipStream_t waiting, writing;
  HIP(hipStreamCreateWithFlags(&waiting, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&writing, hipStreamNonBlocking));
  HIP(hipStreamWriteValue64(writing, flags, 0, 0));
  HIP(hipStreamSynchronize(writing));

  HIP(hipStreamWaitValue64(waiting, flags, 42, hipStreamWaitValueEq));
  add<<<1, 1, 0, waiting>>>(cell, 10);
  EXPECT(hipStreamQuery(waiting) == hipErrorNotReady, "the stream did not wait");
  (void)hipGetLastError();
  EXPECT(__atomic_load_n(cell, __ATOMIC_ACQUIRE) == 1, "the kernel ran before the value came");
  add<<<1, 1, 0, writing>>>(cell, 100);
  HIP(hipStreamWriteValue64(writing, flags, 42, 0));
  HIP(hipStreamSynchronize(waiting));
  EXPECT(*cell == 111, "the cell is %u", *cell);
  HIP(hipStreamDestroy(waiting));
  HIP(hipStreamDestroy(writing));
  return pass("stream memory operations");
}
