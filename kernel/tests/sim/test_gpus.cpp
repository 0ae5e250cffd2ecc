// Several GPUs: none waits for another, neither to stop nor to start, nor at the end of a lease.
#include <sys/wait.h>

#include <thread>

#include "stuck_gpu.h"

namespace {

// Longer than any of these tests takes, so that a call that should not wait fails instead of
// hanging.
constexpr uint32_t ample_ms = 30000;

// Enough for a GPU that is free, on a machine that is busy.
constexpr uint32_t some_ms = 2000;

struct Victim {
  Peer peer;
  int first = peer.create_queue(0, 5), second = peer.create_queue(1, 5);
  kfd_preempt_entry all() const { return entry(peer.pid(), all_queues); }
};

}  // namespace

TEST(a_stop_on_one_gpu_does_not_wait_for_another) {
  Victim victim;
  Lease lease;
  StuckGpu stuck;
  int result = -1;
  std::thread caller([&] { result = hold(self(), lease, victim.all()); });
  // The call is not over, since the first GPU does not answer; the second has been stopped.
  wait_until([&] { return !runs(victim.peer.pid(), victim.second, 1); }, "the other GPU waits");
  stuck.end();
  caller.join();
  CHECK_EQ(result, 0);
  CHECK(!runs(victim.peer.pid(), victim.first));
}

TEST(a_deadline_is_kept_while_a_call_under_the_lease_is_stuck) {
  Victim victim;
  Lease lease(ample_ms);
  CHECK_EQ(hold(self(), lease, entry(victim.peer.pid(), victim.second)), 0);
  StuckGpu stuck;
  int result = 1;
  std::thread caller([&] { result = hold(self(), lease, entry(victim.peer.pid(), victim.first)); });
  CHECK_EQ(lease.renew(1), 0);
  wait_until([&] { return runs(victim.peer.pid(), victim.second, 1); }, "the deadline is not kept");
  stuck.end();
  caller.join();
  // The call came to its GPU when the lease had ended.
  CHECK_EQ(result, -ESTALE);
  CHECK(runs(victim.peer.pid(), victim.first));
}

TEST(a_process_without_queues_on_a_gpu_is_held_there_without_waiting_for_it) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(1, 5);
  StuckGpu stuck;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues), ample_ms), 0);
  CHECK(!runs(peer.pid(), queue, 1));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues), ample_ms), KFD_PREEMPT_UNCHANGED);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), all_queues), ample_ms), 0);
  CHECK(runs(peer.pid(), queue, 1));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues), ample_ms), 0);
  stuck.end();
  CHECK(!runs(peer.pid(), peer.create_queue(0, 5)));
}

TEST(a_single_queue_is_stopped_without_asking_gpus_where_its_process_has_none) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(1, 5);
  StuckGpu stuck;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue), ample_ms), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue), ample_ms), 0);
}

TEST(an_error_on_one_gpu_is_the_status_and_the_others_follow) {
  Victim victim;
  Lease lease;
  StuckGpu stuck;
  CHECK_EQ(hold(self(), lease, victim.all(), some_ms), -ETIME);
  CHECK(!runs(victim.peer.pid(), victim.second, 1));
  stuck.end();
  CHECK(runs(victim.peer.pid(), victim.first));
  CHECK_EQ(hold(self(), lease, victim.all()), 0);
  CHECK(!runs(victim.peer.pid(), victim.first));
}

// Somebody else has the lock of resets on one GPU (-EIO), the other is busy (-ETIME).
TEST(of_errors_on_several_gpus_that_of_the_first_is_the_status) {
  needs_run_lists();
  Victim victim;
  Lease lease;
  for (const int stuck_gpu : {1, 0}) {
    const std::string no_reset = "no_reset" + std::to_string(1 - stuck_gpu);
    StuckGpu stuck(stuck_gpu);
    CHECK_EQ(write_control(no_reset, "1"), 0);
    const int status = hold(self(), lease, victim.all(), some_ms);
    CHECK_EQ(write_control(no_reset, "0"), 0);
    CHECK_EQ(status, stuck_gpu == 1 ? -EIO : -ETIME);
    stuck.end();
    CHECK_EQ(release(self(), lease, victim.all()), 0);
  }
}

TEST(a_change_on_one_gpu_is_a_change) {
  Victim victim;
  Lease lease;
  for (const unsigned gpu : {0u, 1u}) {
    CHECK_EQ(hold(self(), lease, entry(victim.peer.pid(), all_queues, gpus()[gpu].id)), 0);
    CHECK_EQ(hold(self(), lease, victim.all()), 0);
    CHECK_EQ(hold(self(), lease, victim.all()), KFD_PREEMPT_UNCHANGED);
    CHECK_EQ(release(self(), lease, victim.all()), 0);
  }
}

TEST(who_waits_for_a_gpu_can_be_killed_and_leaves_nothing_behind) {
  Victim victim;
  StuckGpu stuck;
  const pid_t waits = fork();
  if (waits == 0) {
    Client client;
    const int lease = create_lease(client);
    hold(client, lease, victim.all());
    _exit(0);
  }
  wait_until([&] { return !runs(victim.peer.pid(), victim.second, 1); }, "it has not begun");
  kill(waits, SIGKILL);
  CHECK_EQ(waitpid(waits, nullptr, 0), waits);
  wait_until([&] { return runs(victim.peer.pid(), victim.second, 1); }, "it left a hold behind");
  stuck.end();
  wait_until([&] { return status(0).args.held_queues == 0; }, "it left a hold behind");
  CHECK(runs(victim.peer.pid(), victim.first));
}

TEST(a_lease_that_is_renewed_keeps_what_it_takes_while_the_old_is_released) {
  Victim victim;
  Lease lease(ample_ms);
  CHECK_EQ(hold(self(), lease, victim.all()), 0);
  StuckGpu stuck;
  CHECK_EQ(lease.renew(1), 0);
  wait_until([&] { return runs(victim.peer.pid(), victim.second, 1); }, "it did not expire");
  CHECK_EQ(lease.renew(), 0);
  std::thread caller([&] { hold(self(), lease, victim.all()); });
  wait_until([&] { return !runs(victim.peer.pid(), victim.second, 1); },
             "it was not stopped again");
  stuck.end();
  caller.join();
  CHECK(!runs(victim.peer.pid(), victim.first));
  CHECK(!runs(victim.peer.pid(), victim.second, 1));
}

// Where the process has no queues nothing waits for the GPU, so that the new hold is there first.
TEST(a_lease_that_is_renewed_keeps_what_it_has_taken_when_the_old_is_released) {
  Peer peer;
  Lease lease(ample_ms);
  const int queue = peer.create_queue(1, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  StuckGpu stuck;
  CHECK_EQ(lease.renew(1), 0);
  wait_until([&] { return runs(peer.pid(), queue, 1); }, "it did not expire");
  CHECK_EQ(lease.renew(), 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues), ample_ms), 0);
  stuck.end();
  const int later = peer.create_queue(0, 5);
  usleep(50000);  // for the end of the old to come, if it has not yet
  CHECK(!runs(peer.pid(), later));
}
