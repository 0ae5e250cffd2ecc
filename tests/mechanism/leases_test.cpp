// Leases: every stop ends, whoever is to blame.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "abi/kfd.h"
#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

Target all_of(const Child& child) { return {child.key(), {}}; }

TEST(Leases, HoldUntilTheyAreEnded) {
  Victim victim;
  const auto controller = make_controller();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_EQ(lease->targets.front().mechanism, Mechanism::debugger);
  EXPECT_FALSE(lease->targets.front().queues.empty());
  EXPECT_TRUE(victim.stands_still());
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_TRUE(is_error(controller->start(lease->lease), ENOENT, "no lease"));
}

TEST(Leases, EndAtTheirDeadline) {
  Victim victim;
  const auto controller = make_controller();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(50ms));
  ASSERT_TRUE(succeeds(lease));
  const LeaseEvent event = next_event(*controller);
  EXPECT_EQ(event.lease, lease->lease);
  EXPECT_STREQ(name(event.end), "deadline");
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Leases, CanBeExtended) {
  Victim victim;
  const auto controller = make_controller();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1min));
  ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 1h)));
  EXPECT_TRUE(is_error(controller->extend(lease->lease, Clock::now() + 25h), EINVAL));
  EXPECT_TRUE(is_error(controller->extend(lease->lease + 1, Clock::now() + 1s), ENOENT));
  ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 1ms)));
  EXPECT_EQ(next_event(*controller).end, LeaseEnd::deadline);
}

TEST(Leases, EndWithTheirOwner) {
  Victim victim;
  Child owner({"/bin/sleep", "1000"});
  const auto controller = make_controller();
  LeaseOptions options = lease_for(1h);
  options.owner = owner.pid();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, options)));
  owner.signal(SIGKILL);
  EXPECT_STREQ(name(next_event(*controller).end), "owner_died");
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Leases, EndWithTheirTarget) {
  Victim victim;
  const auto controller = make_controller();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, lease_for(1h))));
  victim.signal(SIGKILL);
  EXPECT_STREQ(name(next_event(*controller).end), "target_gone");
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
}

TEST(Leases, EndWhenTheTargetRunsAnotherProgram) {
  Victim victim;
  const auto controller = make_controller();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, lease_for(1h))));
  victim.say("exec");
  EXPECT_STREQ(name(next_event(*controller).end), "target_gone");
  // The driver takes the old program's queues down on its own time.
  EXPECT_TRUE(eventually([&] { return queue_states(victim.pid()).empty(); }));
}

TEST(Leases, KeepTheOtherProcessesWhenOneEnds) {
  Victim first, second;
  const auto controller = make_controller();
  const std::vector targets = {all_of(first), all_of(second)};
  const auto lease = controller->stop(targets, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  first.signal(SIGKILL);
  EXPECT_EQ(first.wait(), 128 + SIGKILL);
  EXPECT_TRUE(second.stands_still());
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_TRUE(second.makes_progress());
}

TEST(Leases, EndWithTheController) {
  Victim victim;
  auto controller = make_controller();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, lease_for(1h))));
  controller.reset();
  EXPECT_FALSE(any_stopped(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Leases, RefuseWhatAnotherHolds) {
  Victim victim({"--queues", "2"});
  const auto controller = make_controller();
  const auto queues = controller->queues(victim.key());
  ASSERT_TRUE(succeeds(queues));
  const u32 first = queues->at(0).queue_id, second = queues->at(1).queue_id;
  const Target one{victim.key(), {first}}, other{victim.key(), {second}};
  const auto lease = controller->stop(std::vector{one}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_TRUE(is_error(controller->stop(std::vector{one}, lease_for(1h)), EBUSY, "lease"));
  EXPECT_TRUE(is_error(controller->stop(std::vector{all_of(victim)}, lease_for(1h)), EBUSY));
  const auto second_lease = controller->stop(std::vector{other}, lease_for(1h));
  ASSERT_TRUE(succeeds(second_lease));
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_EQ(queue_states(victim.pid())[first], "mapped");
  EXPECT_EQ(queue_states(victim.pid())[second], "suspended");
}

TEST(Leases, AreAllOrNothing) {
  Victim good;
  Victim bad({"--no-runtime"});
  const auto controller = make_controller();
  const std::vector targets = {all_of(good), all_of(bad)};
  EXPECT_TRUE(is_error(controller->stop(targets, lease_for(1h)), EPERM, "RUNTIME_ENABLE"));
  EXPECT_FALSE(any_stopped(good.pid()));
  EXPECT_TRUE(good.makes_progress());
  // Nothing is reserved either.
  EXPECT_TRUE(succeeds(controller->stop(std::vector{all_of(good)}, lease_for(1h))));
}

TEST(Leases, StopSixtyFourQueuesWithOneCall) {
  static int suspends;
  suspends = 0;
  AttachOptions options;
  options.ioctl = [](void* context, int fd, unsigned long request, void* argument) {
    const auto* args = static_cast<const abi::DbgTrapArgs*>(argument);
    const bool debug = (request & 0xff) == abi::kfd_dbg_trap;
    suspends += debug && args->op == abi::dbg_suspend_queues;
    return kfd::system_ioctl(context, fd, request, argument);
  };
  Victim victim({"--queues", "63"});
  const auto controller = make_controller(options);
  ASSERT_TRUE(succeeds(controller->prepare(victim.key(), Mechanism::debugger)));
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_GE(lease->targets.front().queues.size(), 64u);
  EXPECT_EQ(suspends, 1);
  EXPECT_TRUE(all_stopped(victim.pid()));
}

// Another process creates queues, forks, executes a program and exits meanwhile: each changes the
// run list that the stops go through.
TEST(Leases, WorkWhileOthersComeAndGo) {
  Victim victim;
  const auto controller = make_controller();
  const Target target = all_of(victim);
  std::atomic<bool> done{false};
  std::thread others([&] {
    for (int i = 0; i < 3; i++) {
      Victim other;
      EXPECT_EQ(other.ask("create"), "created");
      EXPECT_EQ(other.ask("fork"), "forked 0");
      EXPECT_EQ(other.ask("create"), "created");
      EXPECT_TRUE(other.makes_progress());
      if (i % 2 == 0) {
        other.say("exec");
      } else {
        EXPECT_EQ(other.ask("end"), "ended");
        EXPECT_EQ(other.wait(), 0);
      }
    }
    done = true;
  });
  int cycles = 0;
  for (; !done; cycles++) {
    const auto lease = controller->stop({&target, 1}, lease_for(1h));
    ASSERT_TRUE(succeeds(lease));
    ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  }
  others.join();
  EXPECT_GT(cycles, 0);
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_FALSE(any_stopped(victim.pid()));
}

// The target itself does all that while it is stopped and started.
// Queues are not destroyed here: on a busy machine hsa_queue_destroy of ROCr 5.2.3 may wait for
// ever, with or without us. It sleeps on an auto-reset event that all queues share, and the
// runtime's own thread can take its wake-up.
TEST(Leases, WorkWhileTheTargetChanges) {
  Victim victim;
  const auto controller = make_controller();
  const Target target = all_of(victim);
  std::atomic<bool> done{false};
  std::thread changes([&] {
    for (int i = 0; i < 20; i++) {
      EXPECT_EQ(victim.ask("create"), "created");
      EXPECT_EQ(victim.ask("fork"), "forked 0");
      EXPECT_EQ(victim.ask("signal"), "survived");
    }
    done = true;
  });
  while (!done) {
    const auto lease = controller->stop({&target, 1}, lease_for(1h));
    ASSERT_TRUE(succeeds(lease));
    ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  }
  changes.join();
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Leases, LetTheTargetDestroyAStoppedQueueAfterwards) {
  Victim victim({"--queues", "1"});
  const auto controller = make_controller();
  const auto before = queue_states(victim.pid()).size();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  victim.say("destroy");  // waits in the driver for the queue to run
  EXPECT_TRUE(victim.stands_still());
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_EQ(victim.line(), "destroyed");
  EXPECT_EQ(queue_states(victim.pid()).size(), before - 1);
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Leases, TellOurTimeFromTheDrivers) {
  Victim victim;
  const auto controller = make_controller();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_GT(lease->times.before_ns, 0u);
  EXPECT_GT(lease->times.driver_ns, 0u);
  EXPECT_GT(lease->times.after_ns, 0u);
}

}  // namespace
}  // namespace gp::mechanism
