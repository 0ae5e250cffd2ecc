// Slots kept free of low priority. GPUs have 8 slots.
#include <set>

#include "peer.h"
#include "preempt.h"

namespace {

int reserve(int lease, uint32_t slots, uint32_t low = 5, uint32_t rotate_ms = 60000) {
  kfd_ioctl_hqd_reservation_args args = {};
  args.lease_fd = lease;
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = slots;
  args.low_priority = low;
  args.rotate_ms = rotate_ms;
  return self().ioctl(AMDKFD_IOC_SET_HQD_RESERVATION, &args);
}

}  // namespace

TEST(a_reservation_refuses_bad_arguments) {
  needs_run_lists();
  Lease lease, other;
  CHECK_EQ(status().args.num_slots, 8u);
  CHECK_EQ(reserve(lease, 8), -EINVAL);
  CHECK_EQ(reserve(lease, 2, 16), -EINVAL);
  CHECK_EQ(reserve(lease, 2, 5, 9), -EINVAL);
  CHECK_EQ(reserve(self().fd(), 2), -EBADF);
  CHECK_EQ(reserve(lease, 7), 0);
  CHECK_EQ(reserve(other, 1), -EBUSY);
  CHECK_EQ(reserve(lease, 0), 0);
  CHECK_EQ(reserve(other, 1), 0);
}

TEST(low_queues_get_no_more_than_the_rest) {
  needs_run_lists();
  Peer low, high;
  Lease lease;
  for (int i = 0; i < 6; i++) CHECK(low.create_queue(0, 5) >= 0);
  CHECK_EQ(reserve(lease, 5), 0);
  Status s = status();
  CHECK_EQ(s.args.active_compute_queues, 3u);
  CHECK_EQ(s.args.waiting_queues, 3u);
  CHECK_EQ(s.args.reserved_slots, 5u);
  for (int i = 0; i < 4; i++) CHECK(runs(high.pid(), high.create_queue(0, 6)));
  CHECK_EQ(status().args.active_compute_queues, 7u);
  CHECK_EQ(mapped_queues(0).size(), size_t{7});
}

TEST(a_new_low_queue_waits_and_takes_the_place_of_one_that_goes) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK_EQ(reserve(lease, 6), 0);
  int first = low.create_queue(0, 0), second = low.create_queue(0, 0);
  int third = low.create_queue(0, 0);
  CHECK(!runs(low.pid(), third));
  CHECK_EQ(low.destroy_queue(first), 0);
  CHECK(runs(low.pid(), third));
  CHECK(runs(low.pid(), second));
}

TEST(a_hold_makes_room_for_a_waiting_queue) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK_EQ(reserve(lease, 7), 0);
  int first = low.create_queue(0, 0), second = low.create_queue(0, 0);
  CHECK(runs(low.pid(), first) && !runs(low.pid(), second));
  CHECK_EQ(hold(self(), lease, entry(low.pid(), first)), 0);
  CHECK(runs(low.pid(), second));
  CHECK_EQ(release(self(), lease, entry(low.pid(), first)), 0);
  CHECK_EQ(status().args.waiting_queues, 1u);
}

TEST(a_raised_priority_ends_the_wait) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK_EQ(reserve(lease, 7), 0);
  low.create_queue(0, 0);
  int second = low.create_queue(0, 0);
  CHECK(!runs(low.pid(), second));
  CHECK_EQ(low.update_queue(second, 100, 12), 0);
  CHECK(runs(low.pid(), second));
  CHECK_EQ(low.update_queue(second, 100, 0), 0);
  CHECK_EQ(status().args.waiting_queues, 1u);
}

TEST(eviction_does_not_count_as_waiting) {
  needs_run_lists();
  Peer low, other;
  Lease lease;
  CHECK_EQ(reserve(lease, 7), 0);
  low.create_queue(0, 0);
  int second = other.create_queue(0, 0);
  CHECK(!runs(other.pid(), second));
  CHECK_EQ(evict(low.pid()), 0);
  CHECK(runs(other.pid(), second));
  CHECK_EQ(restore(low.pid()), 0);
  Status s = status();
  CHECK_EQ(s.args.waiting_queues, 1u);
  CHECK_EQ(s.args.active_compute_queues, 1u);
}

TEST(waiting_queues_get_their_turn) {
  needs_run_lists();
  Peer low;
  Lease lease;
  std::set<int> queues, have_run;
  for (int i = 0; i < 5; i++) queues.insert(low.create_queue(0, 0));
  CHECK_EQ(reserve(lease, 6, 5, 20), 0);
  for (int i = 0; i < 5000 && have_run != queues; i++) {
    Status s = status();
    CHECK(s.args.active_compute_queues <= 2);
    for (int q : queues)
      if (s.find(low.pid(), q)->flags & KFD_HQD_QUEUE_ACTIVE)
        have_run.insert(q);
    usleep(5000);
  }
  CHECK(have_run == queues);
}

TEST(a_reservation_ends_with_its_lease) {
  needs_run_lists();
  Peer low;
  Lease lease;
  for (int i = 0; i < 4; i++) low.create_queue(0, 0);
  CHECK_EQ(reserve(lease, 7), 0);
  CHECK_EQ(status().args.waiting_queues, 3u);
  lease.close_now();
  Status s = status();
  CHECK_EQ(s.args.waiting_queues, 0u);
  CHECK_EQ(s.args.reserved_slots, 0u);
  CHECK_EQ(s.args.active_compute_queues, 4u);
}

TEST(a_process_with_waiting_queues_can_die) {
  needs_run_lists();
  Lease lease;
  {
    Peer low;
    CHECK_EQ(reserve(lease, 7), 0);
    for (int i = 0; i < 4; i++) low.create_queue(0, 0);
  }
  wait_until([] { return status().args.total_queues == 0; }, "the queues stay");
  CHECK_EQ(status().args.waiting_queues, 0u);
  CHECK_EQ(reserve(lease, 0), 0);
}
