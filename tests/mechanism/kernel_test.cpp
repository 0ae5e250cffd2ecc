// `kernel`: the calls of the patched driver. The device of these cases has them (--kernel-patches).
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "abi/kfd_preempt.h"
#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

std::unique_ptr<Attachment> attach_to(const Child& victim, const AttachOptions& options = {}) {
  auto attached = attach(Mechanism::kernel, victim.key(), options);
  EXPECT_TRUE(succeeds(attached));
  return attached ? std::move(*attached) : nullptr;
}

Target all_of(const Child& child) { return {child.key(), {}}; }

// Counts driver calls by number, and fails those it is told to.
struct Calls {
  std::map<u32, unsigned> count;
  std::map<u32, int> failures;  // number -> -errno, once
  abi::PreemptLeaseArgs last_lease = {};
  std::vector<abi::PreemptEntry> last_entries;

  AttachOptions options() {
    AttachOptions result;
    result.ioctl = [](void* context, int fd, unsigned long request, void* argument) {
      return static_cast<Calls*>(context)->call(fd, request, argument);
    };
    result.ioctl_context = this;
    return result;
  }
  int call(int fd, unsigned long request, void* argument) {
    const u32 number = _IOC_NR(request);
    ++count[number];
    if (number == abi::kfd_preempt_lease) {
      last_lease = *static_cast<const abi::PreemptLeaseArgs*>(argument);
    }
    if (number == abi::kfd_batch_unmap_queues) {
      const auto& args = *static_cast<const abi::BatchQueuesArgs*>(argument);
      const auto* entries = reinterpret_cast<const abi::PreemptEntry*>(args.entries_ptr);
      last_entries.assign(entries, entries + args.num_entries);
    }
    if (const auto failure = failures.extract(number)) {
      return failure.mapped();
    }
    return kfd::system_ioctl(nullptr, fd, request, argument);
  }
};

unsigned long open_descriptors() {
  unsigned long count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

TEST(Kernel, StopsAndStartsARunningKernel) {
  Victim victim({"--no-runtime"});  // it needs no runtime, no debugger, no ptrace
  const auto kernel = attach_to(victim);
  const auto stopped = kernel->stop_all({});
  ASSERT_TRUE(succeeds(stopped));
  EXPECT_FALSE(stopped->empty());
  EXPECT_TRUE(all_stopped(victim.pid()));
  EXPECT_TRUE(victim.stands_still());
  ASSERT_TRUE(succeeds(kernel->start_all()));
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Kernel, StopsSingleQueues) {
  Victim victim({"--queues", "2"});
  const auto kernel = attach_to(victim);
  const auto queues = kernel->queues();
  ASSERT_TRUE(succeeds(queues));
  const std::vector<u32> one = {queues->front().queue_id};
  const auto stopped = kernel->stop(one, {});
  ASSERT_TRUE(succeeds(stopped));
  EXPECT_EQ(stopped->front().outcome, QueueOutcome::done);
  EXPECT_EQ(queue_states(victim.pid())[one[0]], "held");
  EXPECT_NE(queue_states(victim.pid())[queues->back().queue_id], "held");
  EXPECT_EQ(kernel->stop(one, {})->front().outcome, QueueOutcome::already);
  ASSERT_TRUE(succeeds(kernel->start(one)));
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Kernel, LeavesNothingStoppedWhenOneOfTheQueuesIsNotThere) {
  Victim victim({"--queues", "2"});
  const auto kernel = attach_to(victim);
  const std::vector<u32> ids = {kernel->queues()->front().queue_id, 999};
  EXPECT_TRUE(is_error(kernel->stop(ids, {}), ENOENT, "no queue 999"));
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Kernel, ADriverWithTheFirstVersionOfTheCallsIsTooOld) {
  Victim victim;
  AttachOptions options;
  options.ioctl = [](void*, int fd, unsigned long request, void* argument) {
    const int result = kfd::system_ioctl(nullptr, fd, request, argument);
    if (_IOC_NR(request) == abi::kfd_get_preempt_caps) {
      static_cast<abi::PreemptCapsArgs*>(argument)->version = 1;
    }
    return result;
  };
  EXPECT_TRUE(is_error(attach(Mechanism::kernel, victim.key(), options), EOPNOTSUPP, "too old"));
}

TEST(Kernel, HoldsQueuesThatAreCreatedMeanwhile) {
  Victim victim;
  const auto kernel = attach_to(victim);
  ASSERT_TRUE(succeeds(kernel->stop_all({})));
  const auto before = queue_states(victim.pid()).size();
  ASSERT_EQ(victim.ask("create"), "created");
  EXPECT_GT(queue_states(victim.pid()).size(), before);
  EXPECT_TRUE(all_stopped(victim.pid()));
  ASSERT_TRUE(succeeds(kernel->start_all()));
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Kernel, IsTheFirstChoice) {
  Victim victim;
  const auto controller = make_controller();
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_EQ(lease->targets.front().mechanism, Mechanism::kernel);
  EXPECT_FALSE(lease->targets.front().queues.empty());
}

// A debugger would need three of each, and everybody else on the GPU is interrupted each time.
TEST(Kernel, StopsThreeProcessesWithOneUnmapAndOneRunList) {
  Victim first, second, third, bystander;
  const auto controller = make_controller();
  const std::vector targets = {all_of(first), all_of(second), all_of(third)};
  for (const Target& target : targets) {
    ASSERT_TRUE(succeeds(controller->prepare(target.process, Mechanism::kernel)));
  }
  const unsigned long before = unmaps(), lists_before = run_lists();
  const auto lease = controller->stop(targets, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_EQ(unmaps(), before + 1);
  EXPECT_EQ(run_lists(), lists_before + 1);
  for (const Target& target : targets) {
    EXPECT_TRUE(all_stopped(target.process.pid));
  }
  ASSERT_TRUE(succeeds(controller->start(lease->lease)));
  EXPECT_EQ(unmaps(), before + 2);
  EXPECT_EQ(run_lists(), lists_before + 2);
  EXPECT_TRUE(first.makes_progress());
  EXPECT_TRUE(second.makes_progress());
  EXPECT_TRUE(third.makes_progress());
}

TEST(Kernel, StopsEachUnderALeaseOfItsOwnWithOneUnmap) {
  Victim first, second, third, bystander;
  const auto controller = make_controller();
  const std::vector targets = {all_of(first), all_of(second), all_of(third)};
  const unsigned long before = unmaps();
  const auto leases = controller->stop_each(targets, lease_for(1h));
  EXPECT_EQ(unmaps(), before + 1);
  ASSERT_EQ(leases.size(), 3u);
  for (const auto& lease : leases) {
    ASSERT_TRUE(succeeds(lease));
  }
  ASSERT_TRUE(succeeds(controller->start(leases[1]->lease)));
  EXPECT_TRUE(second.makes_progress());
  EXPECT_TRUE(all_stopped(first.pid()));
  const std::vector rest = {leases[0]->lease, leases[2]->lease};
  for (const Status& started : controller->start_each(rest)) {
    EXPECT_TRUE(succeeds(started));
  }
  EXPECT_EQ(unmaps(), before + 3);
  EXPECT_TRUE(first.makes_progress());
  EXPECT_TRUE(third.makes_progress());
}

// By a stop and a start it would be two of each.
TEST(Kernel, StopsOneAndStartsAnotherWithOneUnmapAndOneRunList) {
  Victim first, second, bystander;
  const auto controller = make_controller();
  const auto held = controller->stop(std::vector{all_of(first)}, lease_for(1h));
  ASSERT_TRUE(succeeds(held));
  ASSERT_TRUE(succeeds(controller->prepare(second.key(), Mechanism::kernel)));
  const unsigned long before = unmaps(), lists_before = run_lists();
  const auto swapped =
      controller->swap_each(std::vector{all_of(second)}, lease_for(1h), std::vector{held->lease});
  EXPECT_EQ(unmaps(), before + 1);
  EXPECT_EQ(run_lists(), lists_before + 1);
  EXPECT_TRUE(succeeds(swapped.stopped.front()));
  EXPECT_TRUE(succeeds(swapped.started.front()));
  EXPECT_TRUE(all_stopped(second.pid()));
  EXPECT_TRUE(first.makes_progress());
}

TEST(Kernel, ASwapThatTheDriverRefusesStillStarts) {
  Victim first, second;
  Calls calls;
  const auto controller = make_controller(calls.options());
  const auto held = controller->stop(std::vector{all_of(first)}, lease_for(1h));
  ASSERT_TRUE(succeeds(held));
  calls.failures[abi::kfd_swap_queues] = -EINVAL;
  const auto swapped = controller->swap_each(
      std::vector{all_of(second)}, lease_for(1h, Mechanism::kernel), std::vector{held->lease});
  EXPECT_TRUE(is_error(swapped.stopped.front(), EINVAL));
  EXPECT_TRUE(succeeds(swapped.started.front()));
  EXPECT_FALSE(any_stopped(second.pid()));
  EXPECT_TRUE(first.makes_progress());
}

TEST(Kernel, StopsTheOthersWhenOneOfThemHasEnded) {
  Victim first, second, third;
  const auto controller = make_controller();
  const std::vector targets = {all_of(first), all_of(second), all_of(third)};
  second.signal(SIGKILL);
  EXPECT_EQ(second.wait(), 128 + SIGKILL);
  EXPECT_TRUE(is_error(controller->stop(targets, lease_for(1h)), ESRCH));
  EXPECT_FALSE(any_stopped(first.pid()));  // all or nothing
  const auto leases = controller->stop_each(targets, lease_for(1h));
  EXPECT_TRUE(succeeds(leases[0]));
  EXPECT_TRUE(is_error(leases[1], ESRCH));
  EXPECT_TRUE(succeeds(leases[2]));
  EXPECT_TRUE(all_stopped(third.pid()));
}

// Its hold stands in the kernel, under a lease that is renewed for as long as anybody is stopped.
TEST(Kernel, AStartThatFailsLeavesNobodyStopped) {
  Victim first, second;
  Calls calls;
  const auto controller = make_controller(calls.options());
  const std::vector targets = {all_of(first), all_of(second)};
  const auto leases = controller->stop_each(targets, lease_for(1h));
  ASSERT_TRUE(succeeds(leases[0]));
  ASSERT_TRUE(succeeds(leases[1]));
  calls.failures[abi::kfd_fast_remap] = -EPERM;
  EXPECT_TRUE(is_error(controller->start(leases[0]->lease), EPERM));
  EXPECT_TRUE(first.makes_progress());
  EXPECT_TRUE(second.makes_progress());
  ASSERT_TRUE(succeeds(controller->start(leases[1]->lease)));
  ASSERT_TRUE(succeeds(controller->stop(targets, lease_for(1h))));  // it works as before
  EXPECT_TRUE(all_stopped(first.pid()));
}

TEST(Kernel, EndsALeaseAtItsDeadline) {
  Victim victim;
  const auto controller = make_controller();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, lease_for(50ms))));
  EXPECT_EQ(next_event(*controller).end, LeaseEnd::deadline);
  EXPECT_FALSE(any_stopped(victim.pid()));
}

TEST(Kernel, EndsALeaseWithItsTarget) {
  Victim victim;
  const auto controller = make_controller();
  ASSERT_TRUE(succeeds(controller->stop(std::vector{all_of(victim)}, lease_for(1h))));
  victim.signal(SIGKILL);
  EXPECT_EQ(next_event(*controller).end, LeaseEnd::target_gone);
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
  EXPECT_TRUE(eventually([&] { return queue_states(victim.pid()).empty(); }));
}

TEST(Kernel, StartsTheQueuesOfAStopperThatIsKilled) {
  Victim victim;
  Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "kernel"});
  ASSERT_EQ(stopper.line(), "stopped");
  ASSERT_TRUE(all_stopped(victim.pid()));
  stopper.signal(SIGKILL);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
}

// Neither our threads nor a guardian have a part in it: the deadline is the kernel's.
TEST(Kernel, StartsTheQueuesOfAStopperThatHangs) {
  Victim victim;
  Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "kernel", "500"});
  ASSERT_EQ(stopper.line(), "stopped");
  stopper.signal(SIGSTOP);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Kernel, RenewsTheDriversDeadlineWithOurs) {
  Victim victim;
  Calls calls;
  const auto controller = make_controller(calls.options());
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(10s));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_EQ(calls.last_lease.op, abi::preempt_lease_renew);
  EXPECT_GT(calls.last_lease.timeout_ms, 9'000u);
  EXPECT_LT(calls.last_lease.timeout_ms, 11'000u);
  ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 60s)));
  EXPECT_GT(calls.last_lease.timeout_ms, 59'000u);
  EXPECT_LT(calls.last_lease.timeout_ms, 61'000u);
  const unsigned renewals = calls.count[abi::kfd_preempt_lease];
  ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 60s)));
  EXPECT_EQ(calls.count[abi::kfd_preempt_lease], renewals);  // a moment later: not worth a call
}

TEST(Kernel, TriesAgainWhenTheDriversLeaseHasRunOut) {
  Victim victim;
  Calls calls;
  const auto kernel = attach_to(victim, calls.options());
  calls.failures[abi::kfd_batch_unmap_queues] = -ESTALE;
  EXPECT_TRUE(succeeds(kernel->stop_all({})));
  EXPECT_TRUE(all_stopped(victim.pid()));
}

TEST(Kernel, NamesItsTargetByACopyOfTheDeviceAndClosesIt) {
  Victim victim;
  Calls calls;
  const auto kernel = attach_to(victim, calls.options());
  const unsigned long before = open_descriptors();
  ASSERT_TRUE(succeeds(kernel->stop_all({})));
  ASSERT_EQ(calls.last_entries.size(), 1u);
  EXPECT_EQ(calls.last_entries[0].flags, abi::kPreemptTargetFd);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(Kernel, TellsTheNextMechanismToTryWhenTheDriverRefuses) {
  Victim victim;
  Calls calls;
  const auto controller = make_controller(calls.options());
  ASSERT_TRUE(succeeds(controller->prepare(victim.key(), std::nullopt)));
  calls.failures[abi::kfd_batch_unmap_queues] = -EOPNOTSUPP;
  const auto lease = controller->stop(std::vector{all_of(victim)}, lease_for(1h));
  ASSERT_TRUE(succeeds(lease));
  EXPECT_EQ(lease->targets.front().mechanism, Mechanism::debugger);
}

// Its parent's /dev/kfd, which it has without exec, would stop the parent: this process.
TEST(Kernel, DoesNotTakeAForkedChildForItsParent) {
  const UniqueFd device(::open("/dev/kfd", O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(device);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    for (;;) {
      ::pause();
    }
  }
  EXPECT_TRUE(is_error(attach(Mechanism::kernel, {child, 0}), ESRCH, "has not opened /dev/kfd"));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST(OldDriver, HasNoPreemptionCalls) {
  const Status supported = check_kernel_support();
  EXPECT_TRUE(is_error(supported, EOPNOTSUPP, "docs/kernel.md"));
  Victim victim({"--no-runtime"});
  const Probe answer = probe(Mechanism::kernel, victim.key());
  EXPECT_FALSE(answer.usable);
  EXPECT_NE(answer.hint.find("patches"), std::string::npos);
}

}  // namespace
}  // namespace gp::mechanism
