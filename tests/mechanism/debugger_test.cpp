// `debugger`: another process's queues, stopped without its cooperation.
#include <fcntl.h>
#include <signal.h>

#include <cerrno>
#include <utility>

#include "abi/kfd.h"
#include "mechanism/target_process.h"
#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

std::unique_ptr<Attachment> attach_to(const Child& victim) {
  auto attached = attach(Mechanism::debugger, victim.key());
  EXPECT_TRUE(succeeds(attached));
  return attached ? std::move(*attached) : nullptr;
}

TEST(Debugger, StopsAndStartsARunningKernel) {
  Victim victim;
  const auto debugger = attach_to(victim);
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  EXPECT_TRUE(victim.stands_still());
  EXPECT_TRUE(any_stopped(victim.pid()));
  ASSERT_TRUE(succeeds(debugger->start_all()));
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST(Debugger, TellsIdsAndRings) {
  Victim victim({"--queues", "2"});
  const auto debugger = attach_to(victim);
  const auto queues = debugger->queues();
  ASSERT_TRUE(succeeds(queues));
  EXPECT_EQ(queues->size(), queue_states(victim.pid()).size());
  for (const KnownQueue& queue : *queues) {
    EXPECT_NE(queue.ring_base, 0u);
    EXPECT_NE(queue.gpu_id, 0u);
    EXPECT_FALSE(queue.stopped);
  }
}

TEST(Debugger, StopsOneQueueAndLeavesTheOthersAlone) {
  Victim victim({"--queues", "2"});
  const auto debugger = attach_to(victim);
  const u32 id = debugger->queues()->back().queue_id;
  ASSERT_TRUE(succeeds(debugger->stop(std::vector{id}, {})));
  for (const auto& [queue, state] : queue_states(victim.pid())) {
    EXPECT_EQ(state == "suspended", queue == id) << queue << " is " << state;
  }
}

TEST(Debugger, NeverStopsAQueueTwice) {
  Victim victim;
  const auto debugger = attach_to(victim);
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  const auto before = unmaps();
  const auto again = debugger->stop_all({});
  ASSERT_TRUE(succeeds(again));
  EXPECT_EQ(again->front().outcome, QueueOutcome::already);
  EXPECT_EQ(unmaps(), before);
}

TEST(Debugger, StopsQueuesThatAppearWhileAllAreStopped) {
  Victim victim;
  const auto debugger = attach_to(victim);
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  const auto before = queue_states(victim.pid()).size();
  ASSERT_EQ(victim.ask("create"), "created");
  // The driver tells of the queue; it is stopped as soon as that is read.
  EXPECT_TRUE(eventually(
      [&] { return queue_states(victim.pid()).size() > before && all_stopped(victim.pid()); }));
  ASSERT_TRUE(succeeds(debugger->start_all()));
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST(Debugger, PassesSignalsOn) {
  Victim victim;
  const auto debugger = attach_to(victim);
  for (int i = 0; i < 100; i++) {
    ASSERT_EQ(victim.ask("signal"), "survived");
  }
}

TEST(Debugger, LeavesAStoppedProcessStoppedUntilSigcont) {
  Victim victim;
  const auto debugger = attach_to(victim);
  victim.signal(SIGSTOP);
  // ptrace shows a group stop as 't' too; it is over only with SIGCONT.
  ASSERT_TRUE(eventually([&] {
    const char state = process_state(victim.pid())->state;
    return state == 't' || state == 'T';
  }));
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  ASSERT_TRUE(succeeds(debugger->start_all()));
  victim.signal(SIGCONT);
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Debugger, DetachingLeavesNoTrace) {
  Victim victim;
  {
    const auto debugger = attach_to(victim);
    ASSERT_TRUE(succeeds(debugger->stop_all({})));
  }
  EXPECT_FALSE(any_stopped(victim.pid()));
  EXPECT_EQ(process_state(victim.pid())->tracer, 0);
  EXPECT_TRUE(victim.makes_progress());
  // And again at once: nothing of the first is in the way.
  EXPECT_TRUE(succeeds(attach(Mechanism::debugger, victim.key())));
}

TEST(Debugger, LetsTheTargetShutItsRuntimeDown) {
  Victim victim;
  const auto debugger = attach_to(victim);
  EXPECT_EQ(victim.ask("end"), "ended");
  EXPECT_EQ(victim.wait(), 0);
}

TEST(Debugger, IsToldOfTheTargetsEnd) {
  Victim victim;
  const auto debugger = attach_to(victim);
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  victim.signal(SIGKILL);
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
  EXPECT_TRUE(is_error(debugger->start_all(), ESRCH));
}

TEST(Debugger, FollowsNoChildren) {
  Victim victim;
  const auto debugger = attach_to(victim);
  ASSERT_TRUE(succeeds(debugger->stop_all({})));
  EXPECT_EQ(victim.ask("fork"), "forked 0");
  EXPECT_TRUE(victim.stands_still());
}

TEST(Debugger, SaysThatTheRuntimeIsNotEnabled) {
  Victim victim({"--no-runtime"});
  EXPECT_TRUE(is_error(attach(Mechanism::debugger, victim.key()), EPERM, "RUNTIME_ENABLE"));
  EXPECT_EQ(process_state(victim.pid())->tracer, 0);
  const Probe probed = probe(Mechanism::debugger, victim.key());
  EXPECT_FALSE(probed.usable);
  EXPECT_NE(probed.hint.find("gpreempt run"), std::string::npos) << probed.hint;
}

TEST(Debugger, NamesTheDebuggerThatIsThereAlready) {
  Victim victim;
  const auto debugger = attach_to(victim);
  EXPECT_TRUE(is_error(attach(Mechanism::debugger, victim.key()), EBUSY, "traced already"));
}

// ENABLE would make the target ours even where it fails, and our end the end of their session.
TEST(Debugger, DoesNotTouchASessionOfAnother) {
  Victim victim;
  struct Calls {
    unsigned snapshots = 0, enables = 0;
  } calls;
  AttachOptions options;
  options.ioctl_context = &calls;
  options.ioctl = [](void* context, int fd, unsigned long request, void* argument) {
    auto& seen = *static_cast<Calls*>(context);
    if ((request & 0xff) == abi::kfd_dbg_trap) {
      const u32 operation = static_cast<abi::DbgTrapArgs*>(argument)->op;
      seen.enables += operation == abi::dbg_enable ? 1 : 0;
      if (operation == abi::dbg_get_queue_snapshot) {
        ++seen.snapshots;
        return 0;  // what the driver says to whoever ptraces a process that debugs itself
      }
    }
    return kfd::system_ioctl(nullptr, fd, request, argument);
  };
  EXPECT_TRUE(
      is_error(attach(Mechanism::debugger, victim.key(), options), EBUSY, "another debugger"));
  EXPECT_EQ(calls.snapshots, 1);
  EXPECT_EQ(calls.enables, 0);
  EXPECT_EQ(process_state(victim.pid())->tracer, 0);
}

}  // namespace
}  // namespace gp::mechanism
