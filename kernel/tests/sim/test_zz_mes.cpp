// MES that does not answer, and the reset that follows. Last, as test_zz_hang.cpp says.
#include <array>

#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

void wait_for_the_reset(const FirmwareCount& count) {
  wait_until([&] { return count.since().reset != 0; }, "the GPU is not reset");
  CHECK_EQ(count.since().reset, 1u);
}

}  // namespace

TEST(zz_a_removal_that_fails_is_the_error_of_its_entry_alone) {
  needs_mes();
  std::array<Peer, 3> peers;
  Lease lease;
  std::vector<kfd_preempt_entry> entries;
  for (Peer& peer : peers) entries.push_back(entry(peer.pid(), peer.create_queue(0, 5)));
  FirmwareCount count;
  set_parameter("mes_fail", 2);
  CHECK_EQ(batch(AMDKFD_IOC_BATCH_UNMAP_QUEUES, lease, entries), 2);
  CHECK_EQ(entries[0].status, 0);
  CHECK_EQ(entries[1].status, -EIO);
  CHECK_EQ(entries[2].status, 0);
  CHECK_EQ(count.since().remove, 3u);
  wait_for_the_reset(count);
  // All of them are held and stay stopped, whether MES has followed or not.
  for (const kfd_preempt_entry& e : entries)
    CHECK_EQ(status().find(e.target, e.queue_id)->flags,
             unsigned{KFD_QUEUE_STATUS_HELD | KFD_QUEUE_STATUS_EVICTED | KFD_QUEUE_STATUS_RESET});
  CHECK_EQ(status().args.active_queues, 0u);
}

TEST(zz_a_queue_that_mes_does_not_take_back_is_stopped_but_not_held) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  FirmwareCount count;
  set_parameter("mes_fail", 1);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), -EIO);
  CHECK_EQ(status().find(peer.pid(), queue)->num_holds, 0u);
  CHECK_EQ(status().args.active_queues, 0u);
  wait_for_the_reset(count);
  CHECK_EQ(status().find(peer.pid(), queue)->flags,
           unsigned{KFD_QUEUE_STATUS_EVICTED | KFD_QUEUE_STATUS_RESET});
  // It is not there to be removed again.
  CHECK_EQ(peer.destroy_queue(queue), 0);
  CHECK_EQ(count.since().remove, 0u);
}

TEST(zz_a_lease_ends_even_if_mes_takes_nothing_back) {
  needs_mes();
  Peer first, second;
  Lease lease;
  for (Peer* peer : {&first, &second}) {
    CHECK(peer->create_queue(0, 5) >= 0);
    CHECK_EQ(hold(self(), lease, entry(peer->pid(), all_queues)), 0);
  }
  FirmwareCount count;
  set_parameter("hang", 1);
  lease.close_now();
  set_parameter("hang", 0);
  CHECK_EQ(status().args.held_queues, 0u);
  CHECK_EQ(status().args.active_queues, 0u);
  wait_for_the_reset(count);
}

TEST(zz_a_queue_that_mes_does_not_take_back_demoted_is_stopped) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  FirmwareCount count;
  set_parameter("mes_fail", 2);  // the addition, after the removal
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), -EIO);
  CHECK_EQ(status().args.active_queues, 0u);
  wait_for_the_reset(count);
  CHECK_EQ(status().find(peer.pid(), queue)->flags,
           unsigned{KFD_QUEUE_STATUS_DEMOTED | KFD_QUEUE_STATUS_EVICTED | KFD_QUEUE_STATUS_RESET});
  CHECK_EQ(peer.destroy_queue(queue), 0);
}
