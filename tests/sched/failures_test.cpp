// Mechanisms that fail, agents that are silent or go, leases that end by themselves.
#include <cerrno>

#include "sched/sched_support.h"

namespace gp::sched {
namespace {

struct Pair : World {
  explicit Pair(Settings settings = {}) : World(std::move(settings)) {
    server = online();
    training = offline();
  }
  ProcessId server = 0, training = 0;
};

TEST(Failure, OfAMechanismIsAnsweredByTheNextBest) {
  Pair world;
  world.of(world.training).refuses = {{Mechanism::self_debug, EBUSY}, {Mechanism::debugger, EPERM}};
  world.set_busy(world.server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(world.training));
  EXPECT_EQ(world.of(world.training).tried,
            (std::vector{Mechanism::self_debug, Mechanism::debugger, Mechanism::update_queue}));
  const JobReport job = world.job(world.training);
  EXPECT_EQ(job.mechanism, "update-queue");
  ASSERT_EQ(job.processes[0].not_better.size(), 2U);
  EXPECT_EQ(job.processes[0].not_better[0], "self-debug: refused");
}

TEST(Failure, IsRemembered) {
  Pair world;
  world.of(world.training).refuses = {{Mechanism::self_debug, EBUSY}};
  for (int i = 0; i < 3; ++i) {
    world.set_busy(world.server, true);
    world.run_for(10 * kMs);
    world.set_busy(world.server, false);
    world.run_for(1 * kSecond);
  }
  EXPECT_EQ(world.of(world.training).tried,
            (std::vector{Mechanism::self_debug, Mechanism::debugger, Mechanism::debugger,
                         Mechanism::debugger}));
}

TEST(Failure, OfAllMechanismsLeavesTheJobRunningForAWhile) {
  Pair world;
  for (const MechanismInfo& info : kMechanisms) {
    world.of(world.training).refuses[info.mechanism] = EPERM;
  }
  world.set_busy(world.server, true);
  world.run_for(1 * kSecond);
  EXPECT_EQ(world.job(world.training).state, "running");
  EXPECT_FALSE(world.job(world.training).error.empty());
  const std::size_t tried = world.of(world.training).tried.size();
  EXPECT_EQ(tried, 4U);
  world.of(world.training).refuses.clear();
  world.run_for(5 * kSecond);
  EXPECT_TRUE(world.stopped(world.training)) << "it was not tried again";
  EXPECT_TRUE(world.job(world.training).error.empty());
}

// The online work that asked for the stop has ended when the last one fails: there is nobody to
// find out that all of them work again.
TEST(Failure, OfAllMechanismsIsNotForEverIfNobodyWaitsForThem) {
  Pair world;
  world.of(world.training).silent = true;
  world.of(world.training).refuses = {{Mechanism::debugger, EBUSY}};
  world.set_busy(world.server, true);
  world.run_for(2500 * kMs);
  EXPECT_EQ(world.of(world.training).tried.back(), Mechanism::gate);
  world.set_busy(world.server, false);
  world.run_for(1 * kSecond);
  EXPECT_EQ(world.job(world.training).mechanism, std::nullopt);
  world.of(world.training).silent = false;
  world.of(world.training).refuses.clear();
  world.run_for(2 * Settings{}.retry_ns);
  world.set_busy(world.server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(world.training));
}

// Online work has ended before the answer comes. What is thought to be starting is never stopped.
TEST(Failure, OfAStopThatNobodyWantsAnyMoreLeavesTheJobRunning) {
  for (const bool answers : {true, false}) {
    World world;
    const ProcessId server = world.online();
    ProcessFacts facts;
    facts.work_class = WorkClass::offline;
    facts.class_source = ClassSource::environment;
    const Mechanism only = answers ? Mechanism::debugger : Mechanism::self_debug;
    const ProcessId training =
        world.add(facts, answers ? MechanismSet{} : MechanismSet{Mechanism::self_debug});
    world.run_for(10 * kMs);
    World::Model& model = world.of(training);
    model.takes_ns = 500 * kMs;
    model.silent = !answers;
    for (const MechanismInfo& info : kMechanisms) {
      model.refuses[info.mechanism] = info.mechanism == only ? ECONNRESET : EPERM;
    }
    world.set_busy(server, true);
    world.run_for(5 * kMs);
    ASSERT_EQ(world.job(training).state, "stopping");
    world.set_busy(server, false);
    world.run_for(100 * kMs);
    ASSERT_EQ(world.job(training).state, "starting");
    world.run_for(1500 * kMs);
    EXPECT_EQ(world.job(training).state, "running");
    model.refuses.clear();
    model.silent = false;
    model.takes_ns = 1 * kMs;
    world.run_for(2 * Settings{}.retry_ns);
    world.set_busy(server, true);
    world.run_for(10 * kMs);
    EXPECT_TRUE(world.stopped(training)) << "the failure was taken for one that does not pass";
  }
}

TEST(Failure, OfOneProcessStartsTheRestOfItsJob) {
  World world;
  const ProcessId server = world.online();
  const ProcessId rank0 = world.offline("train"), rank1 = world.offline("train");
  world.of(rank1).takes_ns = 20 * kMs;
  for (const MechanismInfo& info : kMechanisms) {
    world.of(rank1).refuses[info.mechanism] = EPERM;
  }
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(rank0));
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.stopped(rank0));
  EXPECT_EQ(world.job(rank0).failures, 1U);
}

TEST(Failure, OfAnAgentToAnswerIsNotWaitedForLong) {
  Pair world;
  world.of(world.training).silent = true;
  world.set_busy(world.server, true);
  world.run_for(900 * kMs);
  EXPECT_EQ(world.of(world.training).tried, std::vector{Mechanism::self_debug});
  world.run_for(200 * kMs);
  world.of(world.training).silent = false;
  EXPECT_EQ(world.of(world.training).tried,
            (std::vector{Mechanism::self_debug, Mechanism::debugger}));
}

TEST(Failure, OfAStartIsTriedAgainUntilTheLeaseEnds) {
  Pair world;
  world.set_busy(world.server, true);
  world.run_for(10 * kMs);
  world.of(world.training).start_fails = true;
  world.set_busy(world.server, false);
  world.run_for(5 * kSecond);
  EXPECT_FALSE(world.stopped(world.training)) << "the lease was kept alive";
  EXPECT_EQ(world.job(world.training).state, "running");
  EXPECT_TRUE(world.engine.all_running());
}

TEST(Failure, OfAnAgentsConnectionLetsTheControllerTakeOver) {
  Pair world;
  world.set_busy(world.server, true);
  world.run_for(10 * kMs);
  world.of(world.training).stopped = false;  // the agent starts its queues when the socket closes
  world.of(world.training).has_page = false;
  world.engine.agent_left(world.now_ns, world.training);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(world.training));
  EXPECT_EQ(world.job(world.training).mechanism, "debugger");
}

TEST(Failure, ToExtendALeaseInTimeStopsTheJobAgain) {
  Pair world;
  world.set_busy(world.server, true);
  world.run_for(10 * kMs);
  world.sleep_for(10 * kSecond);
  world.of(world.server).activity.completed++;
  world.run_for(2 * kSecond);
  EXPECT_GE(world.overdue, 1U);
  EXPECT_TRUE(world.stopped(world.training));
}

TEST(Failure, ToPrepareMakesAJobWithoutAnAgentUnstoppable) {
  World world;
  const ProcessId server = world.online();
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::environment;
  const ProcessId training = world.add(facts, {});
  EXPECT_EQ(world.of(training).prepares, 1U);
  world.of(training).refuses = {{Mechanism::debugger, EPERM}};
  world.run_for(10 * kMs);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.of(training).tried.empty());
  EXPECT_EQ(world.job(training).mechanism, std::nullopt);
}

TEST(Failure, ToPrepareBecauseOfAnotherDebuggerIsTriedAgain) {
  World world;
  const ProcessId server = world.online();
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::environment;
  const ProcessId training = world.add(facts, {});
  world.of(training).refuses = {{Mechanism::debugger, EBUSY}};
  world.run_for(10 * kMs);
  EXPECT_EQ(world.job(training).mechanism, std::nullopt);
  world.of(training).refuses.clear();  // it has let go
  world.run_for(Settings{}.retry_ns + 10 * kMs);
  EXPECT_EQ(world.of(training).prepares, 2U);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(training));
}

// If we hang while the driver stops the process, only the guardian can help: it needs a deadline.
// If the driver takes long, we are alive and the deadline moves on.
TEST(Failure, ToComeBackFromAStopFromOutsideIsSeenByTheGuardian) {
  World world;
  const ProcessId server = world.online();
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::environment;
  const ProcessId training = world.add(facts, {});
  world.run_for(10 * kMs);
  world.of(training).takes_ns = 10 * kSecond;
  world.set_busy(server, true);
  for (int i = 0; i < 9; ++i) {
    ASSERT_EQ(world.job(training).state, "stopping");
    const auto deadline = world.engine.earliest_deadline_ns();
    ASSERT_TRUE(deadline.has_value());
    EXPECT_GT(*deadline, world.now_ns);
    EXPECT_LE(*deadline, world.now_ns + Settings{}.lease_ns);
    world.run_for(1 * kSecond);
  }
}

TEST(Failure, OfAStoppedProcessToLiveEndsItsStop) {
  World world;
  const ProcessId server = world.online();
  const ProcessId rank0 = world.offline("train"), rank1 = world.offline("train");
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  world.remove(rank1);
  world.run_for(10 * kMs);
  EXPECT_EQ(world.job(rank0).state, "stopped");
  world.remove(rank0);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.engine.earliest_deadline_ns().has_value());
}

}  // namespace
}  // namespace gp::sched
