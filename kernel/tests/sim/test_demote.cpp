// Demoted queues run on, in the lowest priority band of MES.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

namespace {

enum Level : uint32_t { lowest = 0, normal = 1 };  // AMDGPU_MES_PRIORITY_LEVEL_*

// The band in which MES has a queue. Fails if it does not have it, or the driver thinks otherwise.
uint32_t level(const Peer& peer, int queue) {
  CHECK(runs(peer.pid(), queue));
  const kfd_queue_status listed = *status().find(peer.pid(), queue);
  const uint32_t is = firmware_state(0).mapped.at(listed.doorbell_off).level;
  CHECK_EQ((listed.flags & KFD_QUEUE_STATUS_DEMOTED) != 0, is == lowest);
  return is;
}

}  // namespace

TEST(a_demoted_queue_runs_in_the_lowest_band_until_it_is_resumed) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7), other = peer.create_queue(0, 7);
  FirmwareCount count;
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(count.since().remove, 1u);
  CHECK_EQ(count.since().add, 1u);
  CHECK_EQ(level(peer, queue), lowest);
  CHECK_EQ(level(peer, other), normal);
  CHECK_EQ(status().args.held_queues, 0u);
  CHECK_EQ(status().find(peer.pid(), queue)->num_holds, 0u);
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), KFD_PREEMPT_UNCHANGED);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(level(peer, queue), normal);
  CHECK_EQ(count.since().add, 2u);
}

TEST(new_queues_of_a_demoted_process_start_demoted) {
  needs_mes();
  Peer peer;
  Lease lease;
  CHECK_EQ(demote(lease, entry(peer.pid(), all_queues)), 0);
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(level(peer, queue), lowest);
  lease.close_now();
  CHECK_EQ(level(peer, queue), normal);
}

TEST(a_queue_is_stopped_if_one_lease_demotes_it_and_another_stops_it) {
  needs_mes();
  Peer peer;
  Lease demotes, stops;
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(demote(demotes, entry(peer.pid(), all_queues)), 0);
  CHECK_EQ(hold(self(), stops, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(release(self(), stops, entry(peer.pid(), queue)), 0);
  CHECK_EQ(level(peer, queue), lowest);
  CHECK_EQ(hold(self(), stops, entry(peer.pid(), queue)), 0);
  demotes.close_now();
  CHECK(!runs(peer.pid(), queue));
  stops.close_now();
  CHECK_EQ(level(peer, queue), normal);
}

TEST(what_a_lease_asked_for_last_counts) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(level(peer, queue), lowest);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(level(peer, queue), normal);
}

TEST(a_demoted_queue_comes_back_demoted_from_everything_else) {
  needs_mes();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  CHECK_EQ(evict(peer.pid()), 0);
  CHECK_EQ(demote(lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(restore(peer.pid()), 0);
  CHECK_EQ(level(peer, queue), lowest);
  CHECK_EQ(peer.update_queue(queue, 0, 9), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(peer.update_queue(queue, 100, 9), 0);
  CHECK_EQ(level(peer, queue), lowest);
}
