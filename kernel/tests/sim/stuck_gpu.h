// A GPU that does not come to an end of what it does, until the test lets it.
#pragma once

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

// Somebody has the first GPU: the driver waits for it, with the lock of that GPU, and its firmware
// does not answer before the end of the scope.
class StuckGpu {
 public:
  StuckGpu() {
    const int queue = holder_.create_queue(0, 5);
    CHECK(holder_.create_queue(0, 5) >= 0);
    set_parameter("queue_preemption_timeout_ms", 600000);
    set_parameter("slow_gpu", 0);
    set_parameter("unmap_delay_us", 600000000);
    holder_.start_destroy_queue(queue);
    // A release of nothing tells whether the GPU is taken, as a queue is looked for.
    auto is_taken = [&] { return release(self(), lease_, entry(holder_.pid(), 99), 10) == -ETIME; };
    wait_until(is_taken, "the GPU is not taken");
  }
  ~StuckGpu() { end(); }
  void end() {
    if (ended_)
      return;
    ended_ = true;
    set_parameter("unmap_delay_us", 0);
    holder_.finish();
    set_parameter("slow_gpu", -1);
    set_parameter("queue_preemption_timeout_ms", 9000);
  }

 private:
  Peer holder_;
  Lease lease_;
  bool ended_ = false;
};
