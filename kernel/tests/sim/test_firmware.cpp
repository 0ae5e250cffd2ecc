// What only the real driver on emulated firmware can show: packets of every kind, sleep, and what
// an open file keeps of a dead process.
#include "firmware.h"
#include "peer.h"
#include "preempt.h"

TEST(status_tells_how_many_processes_fit) { CHECK_EQ(status().args.num_vmids, 8u); }

TEST(a_call_sends_an_unmap_a_query_and_a_run_list_and_nothing_else) {
  needs_run_lists();
  Peer peer, online;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  online.create_queue(0, 15);  // a run list is needed for it
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(count.since().unmap, 1u);
  CHECK_EQ(count.since().query, 1u);
  CHECK_EQ(count.since().run_list, 1u);
  CHECK_EQ(count.since().write, 0u);
}

TEST(a_grace_period_is_set_and_taken_back) {
  needs_run_lists();
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 7);
  FirmwareCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue), 0, KFD_PREEMPT_MAX_GRACE_PERIOD), 0);
  CHECK_EQ(count.since().write, 2u);
}

TEST(a_copy_of_the_kfd_fd_keeps_what_is_left_of_a_dead_process) {
  Peer target;
  Lease lease;
  int queue = target.create_queue(0, 7);
  int copy = target.copy_of_kfd_fd();
  CHECK(copy >= 0);
  kfd_preempt_entry e = entry_by_fd(copy, queue);
  CHECK_EQ(hold(self(), lease, e), 0);
  target.kill_now();
  CHECK_EQ(release(self(), lease, e), 0);
  close(copy);
}

TEST(holds_survive_sleep_and_change_during_it) {
  Peer peer;
  Lease lease, brief;
  int stays = peer.create_queue(0, 5), goes = peer.create_queue(0, 5);
  int never = peer.create_queue(1, 5), late = peer.create_queue(1, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), stays)), 0);
  CHECK_EQ(hold(self(), brief, entry(peer.pid(), goes)), 0);
  CHECK_EQ(power(false), 0);
  CHECK(!runs(peer.pid(), never, 1));
  brief.close_now();
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), late)), 0);
  CHECK(!runs(peer.pid(), goes));
  CHECK_EQ(power(true), 0);
  CHECK(!runs(peer.pid(), stays));
  CHECK(runs(peer.pid(), goes));
  CHECK(runs(peer.pid(), never, 1));
  CHECK(!runs(peer.pid(), late, 1));
  lease.close_now();
  CHECK(runs(peer.pid(), stays));
  CHECK(runs(peer.pid(), late, 1));
}
