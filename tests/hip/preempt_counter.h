// A kernel that counts in host memory for as long as it runs: shows whether a queue makes progress.
#pragma once

#include <unistd.h>

#include <functional>

#include "check.h"

__global__ void count_until(volatile u32* stop, u32* counter) {
  while (*stop == 0) {
    if (threadIdx.x == 0) {
      __hip_atomic_fetch_add(counter, 1u, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
    }
  }
}

class Counter {
 public:
  // On a stream of its own, of this priority.
  explicit Counter(int priority = 0) {
    HIP(hipHostMalloc(reinterpret_cast<void**>(&cells_), 8, hipHostMallocCoherent));
    cells_[0] = cells_[1] = 0;
    HIP(hipStreamCreateWithPriority(&stream_, hipStreamNonBlocking, priority));
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;
  ~Counter() {
    finish();
    HIP(hipStreamDestroy(stream_));
    HIP(hipHostFree(cells_));
  }
  void launch(u32 blocks = 4) {
    count_until<<<blocks, 128, 0, stream_>>>(cells_, cells_ + 1);
    HIP(hipGetLastError());
  }
  void finish() {
    __atomic_store_n(&cells_[0], 1u, __ATOMIC_RELEASE);
    HIP(hipStreamSynchronize(stream_));
  }
  u32 value() const { return __atomic_load_n(&cells_[1], __ATOMIC_ACQUIRE); }
  // Returns when the kernel counts (again); a queue that never does is a test that times out.
  void wait_for_progress() const {
    for (const u32 start = value(); value() == start;) usleep(100);
  }
  // Nothing to wait for when the claim is that nothing happens: look for a while.
  void expect_standstill() const {
    const u32 start = value();
    usleep(30'000);
    EXPECT(value() == start, "stopped, but counted from %u to %u", start, value());
  }

 private:
  u32* cells_;
  hipStream_t stream_;
};

// The counter's kernel must be running, and `stop` must stop its queue.
inline void check_standstill(Counter& counter, u32 times, const std::function<void()>& stop,
                             const std::function<void()>& start) {
  for (u32 i = 0; i < times; i++) {
    counter.wait_for_progress();
    stop();
    counter.expect_standstill();
    start();
  }
  counter.wait_for_progress();
  counter.finish();
}
