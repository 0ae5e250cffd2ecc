// Firmware that does not answer. Last, because the driver marks all queues as reset.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

TEST(zz_hardware_that_does_not_follow_is_an_error_and_the_hold_stands) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  FirmwareCount count;
  set_parameter("queue_preemption_timeout_ms", 300);
  set_parameter("hang", 1);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), -EIO);
  set_parameter("hang", 0);
  set_parameter("queue_preemption_timeout_ms", 9000);
  const kfd_hqd_queue q = *status().find(peer.pid(), queue);
  CHECK_EQ(q.flags, unsigned{KFD_HQD_QUEUE_HELD});
  wait_until([&] { return count.since().reset != 0; }, "no reset is asked for");
  CHECK_EQ(count.since().reset, 1u);
  // It was reset with the GPU: releasing it does not bring it back.
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(status().find(peer.pid(), queue)->flags, 0u);
}
