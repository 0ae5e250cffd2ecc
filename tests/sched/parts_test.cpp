// A process with queues of several classes: each part is a job like any other.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

struct Parts {
  ProcessId rest, online, offline;
};

ProcessFacts facts_of(pid_t pid, Part part, WorkClass work_class) {
  ProcessFacts facts;
  facts.key = {pid, 1};
  facts.part = part;
  facts.has_parts = true;
  facts.work_class = work_class;
  facts.class_source = ClassSource::run_command;
  return facts;
}

ProcessId add_part(World& world, const ProcessFacts& facts) {
  const ProcessId id = world.engine.add_process(world.now_ns, facts);
  world.models[id].has_page = true;
  world.engine.agent_joined(world.now_ns, id,
                            MechanismSet(Mechanism::self_debug, Mechanism::update_queue));
  world.engine.set_queues(world.now_ns, id, QueueSource::agent, {{1, 1}}, true);
  world.settle();
  return id;
}

Parts program(World& world, pid_t pid = 50) {
  return {add_part(world, facts_of(pid, Part::rest, WorkClass::normal)),
          add_part(world, facts_of(pid, Part::online, WorkClass::online)),
          add_part(world, facts_of(pid, Part::offline, WorkClass::offline))};
}

void set_waits(World& world, ProcessId id, u32 parts) {
  world.of(id).activity.waits_for = parts;
  world.engine.woken(id);
  world.settle();
}

TEST(ProcessParts, OnlineQueuesStopOfflineQueuesOfTheSameProcess) {
  World world;
  const Parts parts = program(world);
  world.set_busy(parts.online, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(parts.offline));
  EXPECT_FALSE(world.stopped(parts.rest));
  world.set_busy(parts.online, false);
  world.run_for(kSecond);
  EXPECT_FALSE(world.stopped(parts.offline));
}

TEST(ProcessParts, WhatOnlineQueuesWaitForIsStartedAtOnceAndStaysUpUntilTheyDoNot) {
  World world;
  const Parts parts = program(world);
  world.set_busy(parts.online, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(parts.offline));
  set_waits(world, parts.online, bit_of(Part::offline));
  world.run_for(2 * kMs);
  EXPECT_FALSE(world.stopped(parts.offline));
  world.run_for(kSecond);
  EXPECT_FALSE(world.stopped(parts.offline));
  set_waits(world, parts.online, 0);
  world.run_for(2 * kMs);
  EXPECT_TRUE(world.stopped(parts.offline));
}

TEST(ProcessParts, WhatOnlineQueuesWaitForIsNotStoppedForOthersEither) {
  World world;
  const Parts parts = program(world);
  const ProcessId server = world.online();
  set_waits(world, parts.online, bit_of(Part::offline));
  world.set_busy(parts.online, true);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(parts.offline));
}

TEST(ProcessParts, ThatOtherProcessesWaitForTheirPartsChangesNothing) {
  World world;
  const Parts parts = program(world, 50), others = program(world, 51);
  world.set_busy(parts.online, true);
  world.set_busy(others.online, true);
  set_waits(world, others.online, bit_of(Part::offline));
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(parts.offline));
  EXPECT_FALSE(world.stopped(others.offline));
}

TEST(ProcessParts, CountTheirQueuesOnce) {
  World world;
  world.engine.set_node(1, {"gfx90a", 1, 24});
  const Parts parts = program(world);
  world.engine.set_queues(world.now_ns, parts.rest, QueueSource::seen, {{1, 3}}, true);
  const Report report = world.engine.report(world.now_ns);
  ASSERT_EQ(report.nodes.size(), 1U);
  EXPECT_EQ(report.nodes.front().compute_queues, 3U);
}

TEST(ProcessParts, AreNeverStoppedByWhatStopsTheWholeProcess) {
  World world;
  const Parts parts = program(world);
  for (const Mechanism mechanism : {Mechanism::self_debug, Mechanism::update_queue}) {
    world.of(parts.offline).refuses[mechanism] = EPERM;
  }
  world.set_busy(parts.online, true);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(parts.offline));
  const auto expected = {Mechanism::self_debug, Mechanism::update_queue};
  EXPECT_EQ(world.of(parts.offline).tried, std::vector<Mechanism>(expected));
}

TEST(ProcessParts, AreStoppedAloneOnceTheProcessHasThem) {
  World world;
  const ProcessId server = world.online();
  ProcessFacts facts = facts_of(0, Part::rest, WorkClass::offline);
  facts.has_parts = false;
  const ProcessId whole = world.add(facts, {});  // no agent: stopped from outside
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(whole));
  ASSERT_EQ(world.of(whole).mechanism, Mechanism::debugger);
  world.of(whole).has_page = true;
  facts.key = world.engine.find(whole)->facts.key;
  facts.has_parts = true;
  world.engine.agent_joined(world.now_ns, whole, MechanismSet(Mechanism::self_debug));
  world.engine.set_facts(world.now_ns, whole, facts);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(whole));
  EXPECT_EQ(world.of(whole).mechanism, Mechanism::self_debug);
}

}  // namespace
}  // namespace gp::sched
