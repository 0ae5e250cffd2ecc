// Online work without an agent: who is worth watching, and what follows from what is seen.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

ProcessFacts facts_of(WorkClass work_class) {
  ProcessFacts facts;
  facts.work_class = work_class;
  facts.class_source = ClassSource::environment;
  return facts;
}

ProcessId silent(World& world, WorkClass work_class = WorkClass::online, u32 gpu_id = 1) {
  return world.add(facts_of(work_class), {}, gpu_id);
}

Settings reading() {
  Settings settings;
  settings.read_rings = true;
  return settings;
}

// As one who reads its rings would say it.
void set_seen(World& world, ProcessId id, bool busy) {
  world.of(id).has_page = true;
  world.set_busy(id, busy);
}

using Ids = std::vector<ProcessId>;

TEST(UnseenWork, IsWorthWatchingWhileSomebodyCouldBeStoppedForIt) {
  World world(reading());
  const ProcessId server = silent(world);
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
  const ProcessId trainer = world.offline();
  EXPECT_EQ(world.engine.worth_watching(), Ids{server});
  world.remove(trainer);
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
}

TEST(UnseenWork, OfOthersThanOnlineProcessesIsNot) {
  World world(reading());
  silent(world, WorkClass::offline);
  silent(world, WorkClass::normal);
  world.offline();
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
}

TEST(UnseenWork, IsNotWorthWatchingForAnotherGpuOrAnotherUser) {
  World world(reading());
  silent(world, WorkClass::online, 2);
  ProcessFacts stranger = facts_of(WorkClass::online);
  stranger.owner.uid = 4711;
  world.add(stranger, {});
  world.offline();
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
  stranger.governs_others = true;
  const ProcessId powerful = world.add(stranger, {});
  EXPECT_EQ(world.engine.worth_watching(), Ids{powerful});
}

TEST(UnseenWork, IsToldByAnAgentOrTheProgramItselfInstead) {
  World world(reading());
  const ProcessId server = silent(world);
  world.offline();
  world.engine.online_begin(world.now_ns, server, std::nullopt);
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
  const ProcessId other = silent(world);
  EXPECT_EQ(world.engine.worth_watching(), Ids{other});
  const u64 before = world.engine.changes();
  world.of(other).has_page = true;
  world.engine.agent_joined(world.now_ns, other, MechanismSet(Mechanism::self_debug));
  EXPECT_NE(world.engine.changes(), before);
  EXPECT_EQ(world.engine.worth_watching(), Ids{});
  world.engine.agent_left(world.now_ns, other);
  EXPECT_EQ(world.engine.worth_watching(), Ids{other});
}

TEST(UnseenWork, ChangesAreCountedWhenSomebodyComesGoesOrBecomesSomethingElse) {
  World world(reading());
  u64 before = world.engine.changes();
  const auto has_changed = [&] {
    const u64 now = world.engine.changes();
    return std::exchange(before, now) != now;
  };
  const ProcessId server = silent(world);
  EXPECT_TRUE(has_changed());
  world.settle();
  EXPECT_FALSE(has_changed());
  ProcessFacts facts = world.engine.find(server)->facts;
  facts.work_class = WorkClass::offline;
  world.engine.set_facts(world.now_ns, server, facts);
  EXPECT_TRUE(has_changed());
  world.engine.set_queues(world.now_ns, server, QueueSource::seen, {}, false);
  EXPECT_TRUE(has_changed());
  world.remove(server);
  EXPECT_TRUE(has_changed());
}

TEST(UnseenWork, StopsOthersOnceItIsSeen) {
  World world(reading());
  const ProcessId server = silent(world), trainer = world.offline();
  set_seen(world, server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(trainer));
  set_seen(world, server, false);
  world.run_for(kSecond);
  EXPECT_FALSE(world.stopped(trainer));
}

TEST(UnseenWork, StopsNobodyOnceItIsSeenNoMore) {
  World world(reading());
  const ProcessId server = silent(world), trainer = world.offline();
  set_seen(world, server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(trainer));
  world.of(server).has_page = false;
  world.engine.rings_lost(server, "its memory is gone");
  world.settle();
  world.run_for(kSecond);
  EXPECT_FALSE(world.stopped(trainer));
  EXPECT_FALSE(world.job(server).busy);
  EXPECT_EQ(world.job(server).processes.front().why_rings_not_read, "its memory is gone");
}

// As an honest busy one that hangs: what is read from its memory may be anything.
TEST(UnseenWork, ThatCompletesNothingStopsNobodyForLongerThanMaxStop) {
  Settings settings = reading();
  settings.parameters.max_stop_ns = kSecond;
  World world(settings);
  const ProcessId server = silent(world), trainer = world.offline();
  set_seen(world, server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(trainer));
  world.run_for(2 * kSecond);
  EXPECT_FALSE(world.stopped(trainer));
}

TEST(UnseenWork, IsNamedWhereNobodyReadsRings) {
  World world;
  const ProcessId server = silent(world), offline = silent(world, WorkClass::offline);
  EXPECT_TRUE(world.engine.is_work_unseen(server));
  EXPECT_FALSE(world.engine.is_work_unseen(offline));
  EXPECT_FALSE(world.engine.is_work_unseen(world.online()));
  EXPECT_TRUE(world.job(server).processes.front().work_unseen);
  world.engine.online_begin(world.now_ns, server, std::nullopt);
  EXPECT_FALSE(world.engine.is_work_unseen(server));
}

TEST(UnseenWork, IsNamedWhereRingsCannotBeReadAndNotBeforeItIsTried) {
  World world(reading());
  const ProcessId server = silent(world);
  EXPECT_FALSE(world.engine.is_work_unseen(server));
  world.engine.rings_lost(server, "debugfs is for root");
  EXPECT_TRUE(world.engine.is_work_unseen(server));
  set_seen(world, server, false);
  EXPECT_FALSE(world.engine.is_work_unseen(server));
  EXPECT_TRUE(world.job(server).processes.front().rings_are_read);
}

}  // namespace
}  // namespace gp::sched
