// A GPU that does not come to an end of what it does, until the test lets it.
#pragma once

#include <optional>

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

// The firmware of a GPU does not come to an end of what it does before the end of the scope.
class SlowGpu {
 public:
  explicit SlowGpu(int gpu) {
    set_parameter("queue_preemption_timeout_ms", 600000);
    set_parameter("slow_gpu", gpu);
    set_parameter("unmap_delay_us", 600000000);
  }
  ~SlowGpu() {
    set_parameter("unmap_delay_us", 0);
    set_parameter("slow_gpu", -1);
    set_parameter("queue_preemption_timeout_ms", 9000);
  }
};

// Somebody has a GPU: the driver waits for it, with the lock of that GPU, and its firmware does not
// answer before the end of the scope.
class StuckGpu {
 public:
  explicit StuckGpu(int gpu = 0) {
    const int queue = holder_.create_queue(gpu, 5);
    CHECK(holder_.create_queue(gpu, 5) >= 0);
    slow_.emplace(gpu);
    holder_.start_destroy_queue(queue);
    // A release of nothing tells whether the GPU is taken, as a queue is looked for.
    auto is_taken = [&] { return release(self(), lease_, entry(holder_.pid(), 99), 10) == -ETIME; };
    wait_until(is_taken, "the GPU is not taken");
  }
  ~StuckGpu() { end(); }
  void end() {
    if (!slow_)
      return;
    slow_.reset();
    holder_.finish();
  }

 private:
  Peer holder_;
  Lease lease_;
  std::optional<SlowGpu> slow_;
};
