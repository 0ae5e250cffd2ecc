// Holds together with everything else that stops a queue.
#include <cstdio>
#include <cstring>
#include <fstream>

#include "peer.h"
#include "preempt.h"

TEST(eviction_and_hold_are_independent) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  auto is = [&] { return runs(peer.pid(), queue); };
  CHECK_EQ(evict(peer.pid()), 0);
  CHECK(!is());
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(restore(peer.pid()), 0);
  CHECK(!is());
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(is());
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(evict(peer.pid()), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!is());
  CHECK_EQ(restore(peer.pid()), 0);
  CHECK(is());
}

TEST(holding_an_evicted_queue_sends_nothing) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(evict(peer.pid()), 0);
  PacketCount count;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(count.since().unmaps, 0u);
  CHECK_EQ(restore(peer.pid()), 0);
}

TEST(the_debugger_and_a_hold_are_independent) {
  Peer peer;
  Lease lease;
  CHECK_EQ(peer.enable_debugging(), 0);
  int queue = peer.create_queue(0, 5);
  auto is = [&] { return runs(peer.pid(), queue); };
  CHECK_EQ(peer.suspend(queue), 1);
  CHECK(!is());
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(peer.resume(queue), 1);
  CHECK(!is());
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(is());
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), all_queues)), 0);
  CHECK_EQ(peer.suspend(queue), 1);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), all_queues)), 0);
  CHECK(!is());
  CHECK_EQ(peer.resume(queue), 1);
  CHECK(is());
}

TEST(all_three_together_run_only_when_none_is_left) {
  Peer peer;
  Lease lease;
  CHECK_EQ(peer.enable_debugging(), 0);
  int queue = peer.create_queue(0, 5);
  for (unsigned first = 0; first < 3; first++) {
    for (unsigned step = 1; step < 3; step++) {
      CHECK_EQ(peer.suspend(queue), 1);
      CHECK_EQ(evict(peer.pid()), 0);
      CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
      for (unsigned i = 0; i < 3; i++) {
        CHECK(!runs(peer.pid(), queue));
        unsigned reason = (first + i * step) % 3;
        if (reason == 0)
          CHECK_EQ(peer.resume(queue), 1);
        if (reason == 1)
          CHECK_EQ(restore(peer.pid()), 0);
        if (reason == 2)
          CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
      }
      CHECK(runs(peer.pid(), queue));
    }
  }
}

TEST(destroying_a_held_queue_does_not_wait) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(peer.destroy_queue(queue), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), -ENOENT);
  CHECK_EQ(peer.create_queue(0, 5), queue);  // the id is used again, the hold is not
  CHECK(runs(peer.pid(), queue));
}

TEST(destroying_a_suspended_queue_waits_for_the_debugger_only) {
  Peer peer;
  Lease lease;
  CHECK_EQ(peer.enable_debugging(), 0);
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(peer.suspend(queue), 1);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  peer.start_destroy_queue(queue);
  usleep(20000);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(status().find(peer.pid(), queue) != nullptr);  // still waits
  peer.kill_now();
}

TEST(update_queue_does_not_start_a_held_queue) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(peer.update_queue(queue, 100, 9), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(status().find(peer.pid(), queue)->priority, 9u);
  CHECK_EQ(peer.update_queue(queue, 0, 9), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));  // its own percentage is 0
  CHECK_EQ(peer.update_queue(queue, 100, 9), 0);
  CHECK(runs(peer.pid(), queue));
}

TEST(the_time_held_is_accounted_for) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  usleep(50000);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  std::ifstream file("/sys/class/kfd/kfd/proc/" + std::to_string(peer.pid()) + "/stats_" +
                     std::to_string(gpus()[0].id) + "/preempted_ms");
  unsigned held_ms = 0;
  CHECK(static_cast<bool>(file >> held_ms));
  CHECK(held_ms >= 40);
}

TEST(the_time_of_a_hold_that_lasts_is_accounted_for) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  auto held_ms = [&] {
    unsigned ms = 0;
    std::ifstream("/sys/class/kfd/kfd/proc/" + std::to_string(peer.pid()) + "/stats_" +
                  std::to_string(gpus()[0].id) + "/preempted_ms") >>
        ms;
    return ms;
  };
  wait_until([&] { return held_ms() >= 40; }, "the time does not pass");
}

TEST(a_timeout_bounds_the_wait_for_others) {
  Peer slow, victim;
  Lease lease;
  int mine = slow.create_queue(0, 5), theirs = victim.create_queue(0, 5);
  set_unmap_delay_ms(2000);
  slow.start_destroy_queue(mine);  // has the GPU for two seconds
  // Nothing is held yet: releasing it sends nothing, and only shows whether the GPU is taken.
  auto gpu_is_taken = [&] {
    return release(self(), lease, entry(victim.pid(), theirs), 10) == -ETIME;
  };
  wait_until(gpu_is_taken, "the other process does not begin");
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), theirs), 50), -ETIME);
  set_unmap_delay_ms(0);
  CHECK_EQ(slow.finish(), 0);
  CHECK(runs(victim.pid(), theirs));
  CHECK_EQ(hold(self(), lease, entry(victim.pid(), theirs), 5000), 0);
}

TEST(a_pause_for_a_checkpoint_and_a_hold_are_independent) {
  Peer peer;
  Lease lease;
  int queue = peer.create_queue(0, 5);
  kfd_ioctl_criu_args pause = {}, unpause = {};
  pause.op = KFD_CRIU_OP_PROCESS_INFO;
  unpause.op = KFD_CRIU_OP_UNPAUSE;
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_CRIU_OP, &pause), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK_EQ(peer.ioctl(AMDKFD_IOC_CRIU_OP, &unpause), 0);
  CHECK(!runs(peer.pid(), queue));
  CHECK_EQ(release(self(), lease, entry(peer.pid(), queue)), 0);
  CHECK(runs(peer.pid(), queue));
}

TEST(listeners_hear_of_the_first_hold_and_of_the_last_release) {
  Peer peer;
  Lease lease;
  int first = peer.create_queue(0, 5), second = peer.create_queue(0, 5);
  kfd_ioctl_smi_events_args args = {};
  args.gpuid = gpus()[0].id;
  CHECK_EQ(self().ioctl(AMDKFD_IOC_SMI_EVENTS, &args), 0);
  uint64_t wanted = KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_EVICTION) |
                    KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_QUEUE_RESTORE) |
                    KFD_SMI_EVENT_MASK_FROM_INDEX(KFD_SMI_EVENT_ALL_PROCESS);
  int fd = static_cast<int>(args.anon_fd);
  CHECK(write(fd, &wanted, sizeof wanted) == sizeof wanted);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), first)), 0);
  CHECK_EQ(hold(self(), lease, entry(peer.pid(), second)), 0);
  CHECK_EQ(release(self(), lease, entry(peer.pid(), all_queues)), 0);
  char text[500] = {};
  CHECK(read(fd, text, sizeof text - 1) > 0);
  close(fd);
  unsigned event = 0, gpu = 0, trigger = 0;
  int pid = 0, length = 0;
  CHECK_EQ(sscanf(text, "%x %*d -%d %x %u\n%n", &event, &pid, &gpu, &trigger, &length), 4);
  CHECK_EQ(event, unsigned{KFD_SMI_EVENT_QUEUE_EVICTION});
  CHECK_EQ(pid, peer.pid());
  CHECK_EQ(gpu, gpus()[0].id);
  CHECK_EQ(trigger, unsigned{KFD_QUEUE_EVICTION_PREEMPT});
  CHECK_EQ(sscanf(text + length, "%x %*d -%d %x\n", &event, &pid, &gpu), 3);
  CHECK_EQ(event, unsigned{KFD_SMI_EVENT_QUEUE_RESTORE});
  CHECK(strchr(strchr(text + length, '\n') + 1, '\n') == nullptr);
}
