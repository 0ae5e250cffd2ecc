// Firmware that does not answer, and the reset that follows. Last, because the driver brings no
// process back that was there before a reset: all their queues stay evicted.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

TEST(zz_hardware_that_does_not_follow_is_an_error_and_the_hold_survives_the_reset) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  FirmwareCount count;
  set_parameter("queue_preemption_timeout_ms", 300);
  set_parameter("hang", 1);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), -EIO);
  set_parameter("hang", 0);
  set_parameter("queue_preemption_timeout_ms", 9000);
  wait_until([&] { return count.since().reset != 0; }, "the GPU is not reset");
  CHECK_EQ(count.since().reset, 1u);
  const kfd_queue_status q = *status().find(peer.pid(), queue);
  CHECK_EQ(q.flags,
           unsigned{KFD_QUEUE_STATUS_HELD | KFD_QUEUE_STATUS_EVICTED | KFD_QUEUE_STATUS_RESET});
  // It was reset with the GPU: releasing it does not bring it back.
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(status().find(peer.pid(), queue)->flags,
           unsigned{KFD_QUEUE_STATUS_EVICTED | KFD_QUEUE_STATUS_RESET});
  CHECK_EQ(peer.destroy_queue(queue), 0);
}

TEST(zz_a_process_that_comes_after_a_reset_is_stopped_and_started_as_before) {
  Peer peer;
  Lease lease;
  int first = peer.create_queue(0, 5), second = peer.create_queue(0, 5);
  CHECK(runs(peer.pid(), first) && runs(peer.pid(), second));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), first)), 0);
  CHECK(!runs(peer.pid(), first));
  CHECK(runs(peer.pid(), second));
  lease.close_now();
  CHECK(runs(peer.pid(), first));
}
