// Slots kept free of the low class, which the lease names. GPUs have 8 slots.
#include <set>

#include "peer.h"
#include "preempt.h"

namespace {

int reserve(int lease, uint32_t slots, uint32_t rotate_ms = 60000) {
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = lease;
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = slots;
  args.rotate_ms = rotate_ms;
  return self().ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args);
}

void make_all_low(int lease, const Peer& peer) {
  CHECK_EQ(make_low(lease, entry(peer.pid(), all_queues)), 0);
}

// Each of them has run at some time, never more than so many at once.
void wait_for_turns(const Peer& low, const std::set<int>& queues, uint32_t slots) {
  std::set<int> have_run;
  for (int i = 0; i < 5000 && have_run != queues; i++) {
    const Status s = status();
    CHECK(s.args.active_compute_queues <= slots);
    for (int q : queues)
      if ((s.find(low.pid(), q)->flags & KFD_QUEUE_STATUS_ACTIVE) != 0)
        have_run.insert(q);
    usleep(5000);
  }
  CHECK(have_run == queues);
}

}  // namespace

TEST(a_reservation_refuses_bad_arguments) {
  needs_run_lists();
  Lease lease, other;
  CHECK_EQ(status().args.num_slots, 8u);
  CHECK_EQ(reserve(lease, 8), -EINVAL);
  CHECK_EQ(reserve(lease, 2, 9), -EINVAL);
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
  make_all_low(lease, low);
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
  make_all_low(lease, low);
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
  make_all_low(lease, low);
  CHECK_EQ(reserve(lease, 7), 0);
  int first = low.create_queue(0, 0), second = low.create_queue(0, 0);
  CHECK(runs(low.pid(), first) && !runs(low.pid(), second));
  CHECK_EQ(hold(self(), lease, entry(low.pid(), first)), 0);
  CHECK(runs(low.pid(), second));
  CHECK_EQ(release(self(), lease, entry(low.pid(), first)), 0);
  CHECK_EQ(status().args.waiting_queues, 1u);
}

TEST(a_job_does_not_raise_itself_out_of_the_low_class) {
  needs_run_lists();
  Peer low;
  Lease lease;
  make_all_low(lease, low);
  CHECK_EQ(reserve(lease, 7), 0);
  low.create_queue(0, 15);
  int second = low.create_queue(0, 15);
  CHECK(!runs(low.pid(), second));
  CHECK_EQ(low.update_queue(second, 100, 15), 0);
  CHECK(!runs(low.pid(), second));
  const int own = create_lease(low, 0);
  kfd_ioctl_preempt_queue_args args = {};
  args.lease_fd = own;
  args.type = KFD_IOC_PREEMPT_LOW;
  args.entry = entry(0, all_queues);
  CHECK_EQ(low.ioctl(AMDKFD_IOC_RESUME_QUEUE, &args), 0);
  CHECK_EQ(args.entry.status, KFD_PREEMPT_UNCHANGED);
  CHECK(!runs(low.pid(), second));
}

TEST(who_leaves_the_low_class_need_not_wait) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK_EQ(reserve(lease, 7), 0);
  int first = low.create_queue(0, 0), second = low.create_queue(0, 0);
  CHECK(runs(low.pid(), first) && runs(low.pid(), second));
  make_all_low(lease, low);
  CHECK_EQ(status().args.waiting_queues, 1u);
  CHECK((status().find(low.pid(), first)->flags & KFD_QUEUE_STATUS_LOW) != 0);
  CHECK_EQ(make_normal(lease, entry(low.pid(), all_queues)), 0);
  CHECK_EQ(status().args.waiting_queues, 0u);
  CHECK(runs(low.pid(), first) && runs(low.pid(), second));
  CHECK_EQ(make_low(lease, entry(low.pid(), second)), 0);
  CHECK_EQ(make_low(lease, entry(low.pid(), second)), KFD_PREEMPT_UNCHANGED);
  CHECK_EQ((status().find(low.pid(), first)->flags & KFD_QUEUE_STATUS_LOW), 0u);
}

TEST(only_the_lease_that_reserves_says_who_is_low) {
  needs_run_lists();
  Peer job;
  Lease lease, other;
  make_all_low(other, job);
  CHECK_EQ(reserve(lease, 7), 0);
  int first = job.create_queue(0, 0), second = job.create_queue(0, 0);
  CHECK(runs(job.pid(), first) && runs(job.pid(), second));
  CHECK_EQ((status().find(job.pid(), first)->flags & KFD_QUEUE_STATUS_LOW), 0u);
}

TEST(a_low_queue_can_be_held_and_stays_low) {
  needs_run_lists();
  Peer low;
  Lease lease;
  make_all_low(lease, low);
  CHECK_EQ(reserve(lease, 7), 0);
  int first = low.create_queue(0, 0), second = low.create_queue(0, 0);
  CHECK_EQ(hold(self(), lease, entry(low.pid(), all_queues)), 0);
  CHECK(!runs(low.pid(), first) && !runs(low.pid(), second));
  CHECK_EQ(status().args.waiting_queues, 0u);
  CHECK_EQ(release(self(), lease, entry(low.pid(), all_queues)), 0);
  CHECK_EQ(status().args.waiting_queues, 1u);
  CHECK_EQ(status().args.active_compute_queues, 1u);
}

TEST(a_low_mark_without_a_reservation_sends_nothing) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK(low.create_queue(0, 0) >= 0);
  PacketCount count;
  make_all_low(lease, low);
  CHECK_EQ(make_normal(lease, entry(low.pid(), all_queues)), 0);
  CHECK_EQ(count.since().unmaps, 0u);
}

TEST(mes_has_no_low_class) {
  needs_mes();
  Peer low;
  Lease lease;
  int queue = low.create_queue(0, 0);
  CHECK_EQ(make_low(lease, entry(low.pid(), queue)), -EOPNOTSUPP);
  CHECK_EQ(make_low(lease, entry(low.pid(), all_queues)), -EOPNOTSUPP);
}

TEST(eviction_does_not_count_as_waiting) {
  needs_run_lists();
  Peer low, other;
  Lease lease;
  make_all_low(lease, low);
  make_all_low(lease, other);
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
  make_all_low(lease, low);
  std::set<int> queues;
  for (int i = 0; i < 5; i++) queues.insert(low.create_queue(0, 0));
  CHECK_EQ(reserve(lease, 6, 20), 0);
  wait_for_turns(low, queues, 2);
}

TEST(a_new_time_between_turns_counts_at_once) {
  needs_run_lists();
  Peer low;
  Lease lease;
  make_all_low(lease, low);
  std::set<int> queues;
  for (int i = 0; i < 3; i++) queues.insert(low.create_queue(0, 0));
  CHECK_EQ(reserve(lease, 6, 600000), 0);
  CHECK_EQ(reserve(lease, 6, 20), 0);
  wait_for_turns(low, queues, 2);
}

TEST(a_reservation_ends_with_its_lease) {
  needs_run_lists();
  Peer low;
  Lease lease;
  make_all_low(lease, low);
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
    make_all_low(lease, low);
    CHECK_EQ(reserve(lease, 7), 0);
    for (int i = 0; i < 4; i++) low.create_queue(0, 0);
  }
  wait_until([] { return status().args.total_queues == 0; }, "the queues stay");
  CHECK_EQ(status().args.waiting_queues, 0u);
  CHECK_EQ(reserve(lease, 0), 0);
}
