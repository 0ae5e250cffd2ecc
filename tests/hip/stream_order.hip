// TEST: a stream runs in order, events order streams, hipStreamQuery tells the truth
#include "check.h"

// Waits until the host says go.
__global__ void hold(volatile u32* go) {
  while (*go == 0) __builtin_amdgcn_s_sleep(20);
}
__global__ void set(u32* cell, u32 value) { *cell = value; }
__global__ void add_to(u32* cell, const u32* other) { *cell = *cell * 10 + *other; }

int main() {
  u32* go;
  HIP(hipHostMalloc(reinterpret_cast<void**>(&go), 4, hipHostMallocCoherent));
  *go = 0;
  hipStream_t first, second;
  HIP(hipStreamCreateWithFlags(&first, hipStreamNonBlocking));
  HIP(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  hipEvent_t event;
  HIP(hipEventCreateWithFlags(&event, hipEventDisableTiming));
  DeviceArray<u32> a(1), b(1);
  a.zero();
  b.zero();

  hold<<<1, 64, 0, first>>>(go);
  set<<<1, 1, 0, first>>>(a, 7);
  HIP(hipEventRecord(event, first));
  HIP(hipStreamWaitEvent(second, event, 0));
  set<<<1, 1, 0, second>>>(b, 3);
  add_to<<<1, 1, 0, second>>>(b, a);

  EXPECT(hipStreamQuery(first) == hipErrorNotReady, "the held stream says it is done");
  EXPECT(hipStreamQuery(second) == hipErrorNotReady, "the waiting stream says it is done");
  EXPECT(hipEventQuery(event) == hipErrorNotReady, "the event says it is done");
  (void)hipGetLastError();
  __atomic_store_n(go, 1, __ATOMIC_RELEASE);
  HIP(hipStreamSynchronize(second));
  EXPECT(hipStreamQuery(first) == hipSuccess, "the first stream is not done");
  HIP(hipEventQuery(event));
  EXPECT(b.read()[0] == 37, "b is %u: out of order", b.read()[0]);

  // Many dependent launches on one stream.
  set<<<1, 1, 0, first>>>(a, 1);
  for (u32 i = 0; i < 200; i++) add_to<<<1, 1, 0, first>>>(b, a);
  HIP(hipStreamSynchronize(first));
  u32 want = 37;
  for (u32 i = 0; i < 200; i++) want = want * 10 + 1;
  EXPECT(b.read()[0] == want, "b is %u, expected %u", b.read()[0], want);
  HIP(hipStreamDestroy(first));
  HIP(hipStreamDestroy(second));
  return pass("stream order");
}
