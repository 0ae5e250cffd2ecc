// What the driver refuses when it was loaded with options that take away what the calls need.
#include "peer.h"
#include "preempt.h"

// cwsr_enable=0: an unmap waits for the end of running waves, and a long one ends in a GPU reset.

TEST(without_cwsr_a_compute_queue_is_not_held) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK(queue >= 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), -EOPNOTSUPP);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), -EOPNOTSUPP);
  CHECK(runs(peer.pid(), queue));
  CHECK_EQ(status().args.held_queues, 0u);
}

TEST(without_cwsr_an_sdma_queue_is_held) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7, KFD_IOC_QUEUE_TYPE_SDMA);
  CHECK(queue >= 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
}

// sched_policy=2: the driver puts queues into slots itself, on another path altogether.

TEST(without_hws_no_queue_is_held) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK(queue >= 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), -EOPNOTSUPP);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), -EOPNOTSUPP);
}

TEST(without_hws_no_slot_is_reserved) {
  Lease lease;
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = lease;
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = 1;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args), -EOPNOTSUPP);
}
