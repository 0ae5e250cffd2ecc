// What cannot be told to the hardware scheduler at once is told to it later: nobody stays stopped
// because there was no memory for a run list, or somebody else had the lock of resets.
#include <set>

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

bool is_mapped(const Peer& peer, int queue) {
  return mapped_queues(0).count({peer.pid(), queue}) != 0;
}

void wait_until_mapped(const Peer& peer, int queue) {
  wait_until([&] { return is_mapped(peer, queue); }, "nobody tries again");
}

// Run lists fail, and none is left to fail at the end of the scope.
class NoRunLists {
 public:
  explicit NoRunLists(int count) { set_parameter("fail_run_lists", count); }
  ~NoRunLists() { set_parameter("fail_run_lists", 0); }
};

}  // namespace

TEST(a_stop_whose_run_list_fails_says_so_and_others_run_on_later) {
  needs_run_lists();
  Peer peer, online;
  Lease lease;
  const int queue = peer.create_queue(0, 5), other = online.create_queue(0, 15);
  FirmwareCount count;
  NoRunLists once(1);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), -EIO);
  wait_until_mapped(online, other);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(status().find(peer.pid(), queue)->flags, unsigned{KFD_QUEUE_STATUS_HELD});
  CHECK_EQ(count.since().run_list, 1u);
  CHECK_EQ(count.since().reset, 0u);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(runs(peer.pid(), queue));
}

TEST(a_start_is_tried_until_there_is_a_run_list) {
  needs_run_lists();
  Peer peer, online;
  Lease lease;
  const int queue = peer.create_queue(0, 5), other = online.create_queue(0, 15);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  NoRunLists several(3);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), -EIO);
  CHECK_EQ(status().args.held_queues, 0u);
  wait_until_mapped(peer, queue);
  CHECK(runs(online.pid(), other));
  CHECK_EQ(parameter("fail_run_lists"), 0);
}

TEST(the_end_of_a_lease_is_tried_until_there_is_a_run_list) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  const int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  NoRunLists several(2);
  lease.close_now();
  wait_until_mapped(peer, queue);
  CHECK_EQ(parameter("fail_run_lists"), 0);
}

TEST(each_entry_of_a_list_that_fails_says_so) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  std::vector<kfd_preempt_entry> entries = {entry(peer.pid(), peer.create_queue(0, 5)),
                                            entry(peer.pid(), 77),
                                            entry(peer.pid(), peer.create_queue(0, 5))};
  CHECK(peer.create_queue(0, 5) >= 0);
  NoRunLists once(1);
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, entries), 0);
  CHECK_EQ(entries[0].status, -EIO);
  CHECK_EQ(entries[1].status, -ENOENT);
  CHECK_EQ(entries[2].status, -EIO);
  CHECK_EQ(status().args.held_queues, 2u);
}

// As in the stock driver the queue is not made; but the others do not wait for the next change.
TEST(a_queue_that_cannot_be_made_stops_nobody) {
  needs_run_lists();
  Peer peer, online;
  const int other = online.create_queue(0, 15);
  NoRunLists once(1);
  CHECK(peer.create_queue(0, 5) < 0);
  wait_until_mapped(online, other);
  // And its process has none that would have to be waited for.
  Lease lease;
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  CHECK_EQ(count.since().unmap, 0u);
  CHECK(!runs(peer.pid(), peer.create_queue(0, 5)));
}

TEST(an_eviction_whose_run_list_fails_stops_nobody_else) {
  needs_run_lists();
  Peer peer, online;
  const int queue = peer.create_queue(0, 5), other = online.create_queue(0, 15);
  NoRunLists once(1);
  CHECK(evict(peer.pid()) < 0);
  wait_until_mapped(online, other);
  CHECK(!is_mapped(peer, queue));  // and stays so: the stock driver does not get it back
}

TEST(waiting_queues_get_their_turn_after_one_that_failed) {
  needs_run_lists();
  Peer low;
  Lease lease;
  CHECK_EQ(make_low(lease, entry(low.pid(), all_queues)), 0);
  std::set<int> queues, have_run;
  for (int i = 0; i < 3; i++) queues.insert(low.create_queue(0, 0));
  kfd_ioctl_slot_reservation_args args = {};
  args.lease_fd = lease;
  args.gpu_id = gpus()[0].id;
  args.reserved_slots = 7;
  args.rotate_ms = 10;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SET_SLOT_RESERVATION, &args), 0);
  CHECK_EQ(write_control("no_reset0", "1"), 0);
  usleep(300000);  // many turns, all of which fail
  CHECK_EQ(write_control("no_reset0", "0"), 0);
  for (int i = 0; i < 5000 && have_run != queues; i++) {
    const Status s = status();
    for (int q : queues)
      if ((s.find(low.pid(), q)->flags & KFD_QUEUE_STATUS_ACTIVE) != 0)
        have_run.insert(q);
    usleep(1000);
  }
  CHECK(have_run == queues);
}
