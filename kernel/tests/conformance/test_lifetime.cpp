// Nobody stays frozen: whatever ends a lease, its queues run again.
#include <memory>

#include "peer.h"
#include "preempt.h"

namespace {

// The end of a process or of a deadline takes effect soon, not at once.
void check_runs_soon(int pid, int queue) {
  wait_until([&] { return runs(pid, queue); }, "the queue does not run");
}

struct Victim {
  Peer peer;
  int queue = peer.create_queue(0, 5);
  int pid() const { return peer.pid(); }
};

}  // namespace

TEST(closing_the_lease_releases) {
  Victim victim;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), all_queues)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
  lease.close_now();
  CHECK(runs(victim.pid(), victim.queue));
}

TEST(the_lease_lasts_until_its_last_copy_is_closed) {
  Victim victim;
  Lease lease;
  int copy = dup(lease);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), 0);
  lease.close_now();
  CHECK(!runs(victim.pid(), victim.queue));
  close(copy);
  CHECK(runs(victim.pid(), victim.queue));
}

TEST(the_owners_death_releases) {
  Victim victim;
  auto owner = std::make_unique<Peer>();
  CHECK_EQ(hold(*owner, create_lease(*owner), entry(victim.pid(), victim.queue)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
  owner->kill_now();
  check_runs_soon(victim.pid(), victim.queue);
}

TEST(the_owners_death_releases_even_if_a_child_has_the_lease) {
  Victim victim;
  auto owner = std::make_unique<Peer>();
  CHECK_EQ(hold(*owner, create_lease(*owner), entry(victim.pid(), victim.queue)), 0);
  owner->leave_a_copy_of_every_fd();
  owner->kill_now();
  check_runs_soon(victim.pid(), victim.queue);
}

TEST(the_owners_exec_releases) {
  Victim victim;
  Peer owner;
  CHECK_EQ(hold(owner, create_lease(owner), entry(victim.pid(), victim.queue)), 0);
  owner.exec();
  check_runs_soon(victim.pid(), victim.queue);
}

TEST(a_missed_deadline_releases) {
  Victim victim;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), 0);
  CHECK_EQ(lease.renew(100), 0);
  check_runs_soon(victim.pid(), victim.queue);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), -ESTALE);
  CHECK_EQ(release(self(), lease, entry(victim.pid(), victim.queue)), 1);
}

TEST(an_expired_lease_can_be_renewed) {
  Victim victim;
  Lease lease(1);
  while (hold(self(), lease, entry(victim.pid(), victim.queue)) != -ESTALE) usleep(1000);
  CHECK_EQ(lease.renew(), 0);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
}

TEST(a_lease_that_is_renewed_in_time_holds) {
  Victim victim;
  Lease lease(60000);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), 0);
  for (int i = 0; i < 20; i++) {
    CHECK_EQ(lease.renew(60000), 0);
    CHECK(!runs(victim.pid(), victim.queue));
  }
  CHECK_EQ(lease.renew(1), 0);
  check_runs_soon(victim.pid(), victim.queue);
}

TEST(two_leases_hold_a_queue_until_both_let_go) {
  Victim victim;
  Lease first, second;
  CHECK_EQ(hold(self(), first, entry(victim.pid(), victim.queue)), 0);
  CHECK_EQ(hold(self(), second, entry(victim.pid(), victim.queue)), 0);
  CHECK_EQ(status().find(victim.pid(), victim.queue)->num_holds, 2u);
  CHECK_EQ(release(self(), first, entry(victim.pid(), victim.queue)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
  second.close_now();
  CHECK(runs(victim.pid(), victim.queue));
}

TEST(a_job_cannot_escape_by_releasing_its_own_hold) {
  Victim victim;
  Lease lease;
  int own = create_lease(victim.peer);
  CHECK_EQ(hold(victim.peer, own, entry(0, victim.queue)), 0);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), victim.queue)), 0);
  CHECK_EQ(release(victim.peer, own, entry(0, all_queues)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
}

TEST(new_queues_of_a_held_process_start_held) {
  Victim victim;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), all_queues)), 0);
  int later = victim.peer.create_queue(0, 5);
  CHECK(later >= 0);
  CHECK(!runs(victim.pid(), later));
  CHECK_EQ(release(self(), lease, entry(victim.pid(), all_queues)), 0);
  CHECK(runs(victim.pid(), later));
  CHECK(runs(victim.pid(), victim.queue));
}

TEST(a_process_can_be_held_before_its_first_queue) {
  Peer peer;
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  int queue = peer.create_queue(1, 5);
  CHECK(!runs(peer.pid(), queue, 1));
  lease.close_now();
  CHECK(runs(peer.pid(), queue, 1));
}

TEST(a_process_can_be_held_on_one_gpu_only) {
  Victim victim;
  Lease lease;
  int other = victim.peer.create_queue(1, 5);
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), all_queues, gpus()[0].id)), 0);
  CHECK(!runs(victim.pid(), victim.queue));
  CHECK(runs(victim.pid(), other, 1));
}

TEST(a_held_process_can_die) {
  auto victim = std::make_unique<Victim>();
  Lease lease;
  CHECK_EQ(hold(self(), lease, entry(victim->pid(), all_queues)), 0);
  CHECK_EQ(hold(self(), lease, entry(victim->pid(), victim->queue)), 0);
  victim.reset();
  wait_until([] { return status().args.total_queues == 0; }, "the queues stay");
  lease.close_now();  // nothing left to release
}

TEST(owner_and_victim_can_die_together) {
  for (int i = 0; i < 10; i++) {
    Peer both;
    int queue = both.create_queue(0, 5);
    CHECK_EQ(hold(both, create_lease(both), entry(0, queue)), 0);
  }
  wait_until([] { return status().args.total_queues == 0; }, "the queues stay");
  CHECK_EQ(status().args.held_queues, 0u);
}
