// Who belongs to which job, and what that means.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

TEST(Job, IsStoppedWithAllItsProcesses) {
  World world;
  const ProcessId server = world.online();
  const ProcessId rank0 = world.offline("train"), rank1 = world.offline("train");
  EXPECT_EQ(world.job(rank0).id, world.job(rank1).id);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(rank0));
  EXPECT_TRUE(world.stopped(rank1));
  EXPECT_EQ(world.job(rank0).preemptions, 1U);
}

TEST(Job, StopsAProcessThatJoinsWhileItIsStopped) {
  World world;
  const ProcessId server = world.online();
  world.offline("train");
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  const ProcessId late = world.offline("train");
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(late));
}

TEST(Job, StopsAQueueThatAppearsWhileItIsStopped) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  const auto orders = world.of(training).tried.size();
  world.engine.set_queues(world.now_ns, training, QueueSource::agent, {{1, 2}}, true);
  EXPECT_EQ(world.of(training).tried.size(), orders + 1);
  world.run_for(10 * kMs);
  EXPECT_EQ(world.job(training).state, "stopped");
}

// Else whoever may not say that they are online could have their work run by this alone.
TEST(Job, StaysStoppedWhateverAProcessCallsIt) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(training));
  ProcessFacts facts = world.engine.find(training)->facts;
  for (const char* name : {"first", "second", "first", ""}) {
    facts.job = name;
    world.engine.set_facts(world.now_ns, training, facts);
    world.run_for(5 * kMs);
    EXPECT_EQ(world.job(training).state, "stopped") << name;
  }
  EXPECT_EQ(world.of(training).starts, 0U);
  EXPECT_EQ(world.of(training).stops, 1U);
  world.set_busy(server, false);
  world.run_for(kSecond);
  EXPECT_EQ(world.job(training).state, "running");
}

TEST(Job, IsLeftWithWhatAClientHoldsOfIt) {
  World world;
  const ProcessId held = world.offline("first"), other = world.offline("second");
  world.engine.hold(world.now_ns, held, 7, world.now_ns + 60 * kSecond);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(held));
  ProcessFacts facts = world.engine.find(held)->facts;
  facts.job = "second";
  world.engine.set_facts(world.now_ns, held, facts);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(held));
  EXPECT_TRUE(world.stopped(other)) << "a job is stopped as a whole";
  EXPECT_EQ(world.of(held).starts, 0U);
  world.engine.release(world.now_ns, 7, std::nullopt);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_EQ(world.job(held).state, "running");
  EXPECT_FALSE(world.stopped(other));
}

TEST(Job, OfAnotherOwnerIsNoOnesHold) {
  World world;
  const ProcessId held = world.offline();
  world.engine.hold(world.now_ns, held, 7, world.now_ns + 60 * kSecond);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(held));
  ProcessFacts facts = world.engine.find(held)->facts;
  facts.owner.uid = 4711;
  world.engine.set_facts(world.now_ns, held, facts);
  world.run_for(10 * kMs);
  EXPECT_EQ(world.job(held).state, "running");
}

TEST(Job, OfOneUserIsNotJoinedByAnother) {
  World world;
  ProcessFacts mine, theirs;
  mine.job = theirs.job = "train";
  mine.owner.uid = 1000;
  theirs.owner.uid = 1001;
  EXPECT_NE(world.job(world.add(mine, MechanismSet(Mechanism::self_debug))).id,
            world.job(world.add(theirs, MechanismSet(Mechanism::self_debug))).id);
}

TEST(Job, IsNotJoinedByOneWhoMayBeAnImpostor) {
  World world;
  ProcessFacts mine, theirs;
  mine.job = theirs.job = "train";
  theirs.owner.is_certain = false;
  EXPECT_NE(world.job(world.add(mine, MechanismSet(Mechanism::self_debug))).id,
            world.job(world.add(theirs, MechanismSet(Mechanism::self_debug))).id);
}

TEST(Job, IsNormalWhenItsProcessesDisagree) {
  World world;
  const ProcessId one = world.online("both");
  world.offline("both");
  EXPECT_EQ(world.job(one).work_class, WorkClass::normal);
}

TEST(Job, OnAnotherGpuIsLeftAlone) {
  World world;
  const ProcessId server = world.online();
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::run_command;
  const ProcessId training = world.add(facts, MechanismSet(Mechanism::self_debug), 2);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Job, ThatBecomesNormalIsStarted) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(training));
  ProcessFacts facts = world.engine.find(training)->facts;
  facts.work_class = WorkClass::normal;
  world.engine.set_facts(world.now_ns, training, facts);
  world.settle();
  world.run_for(100 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Job, IsReportedWithItsNodesAndSlots) {
  World world;
  world.engine.set_node(1, {"gfx90a", 2, 4});
  const ProcessId training = world.offline();
  EXPECT_FALSE(world.engine.report(world.now_ns).nodes[0].slots_low);
  world.engine.set_queues(world.now_ns, training, QueueSource::seen, {{1, 3}}, true);
  const Report report = world.engine.report(world.now_ns);
  EXPECT_TRUE(report.nodes[0].slots_low);
  EXPECT_EQ(report.nodes[0].compute_queues, 3U);
  EXPECT_EQ(report.nodes[0].running.size(), 1U);
}

}  // namespace
}  // namespace gp::sched
