// By what a process would be stopped is known before: its agent gets ready for that and no more.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

constexpr MechanismSet kAbilities(Mechanism::self_debug, Mechanism::update_queue);

ProcessFacts of_class(WorkClass work_class) {
  ProcessFacts facts;
  facts.work_class = work_class;
  facts.class_source = ClassSource::run_command;
  return facts;
}

TEST(ExpectedMechanism, OfAnOfflineProcessIsTheBestThatItsAgentCan) {
  World world;
  const ProcessId id = world.add(of_class(WorkClass::offline), {});
  EXPECT_EQ(world.engine.expected_mechanism(id, kAbilities), Mechanism::self_debug);
  EXPECT_EQ(world.engine.expected_mechanism(id, MechanismSet(Mechanism::update_queue)),
            Mechanism::debugger);
}

TEST(ExpectedMechanism, IsThatOfTheConfiguration) {
  Settings settings;
  settings.mechanisms = {};
  settings.mechanisms.add(Mechanism::update_queue);
  World world(settings);
  const ProcessId id = world.add(of_class(WorkClass::offline), {});
  EXPECT_EQ(world.engine.expected_mechanism(id, kAbilities), Mechanism::update_queue);
  EXPECT_EQ(world.engine.expected_mechanism(id, MechanismSet(Mechanism::self_debug)), std::nullopt);
}

TEST(ExpectedMechanism, DoesNotExistForThoseThatAreNotStopped) {
  World world;
  const ProcessId online = world.add(of_class(WorkClass::online), kAbilities);
  const ProcessId normal = world.add(of_class(WorkClass::normal), kAbilities);
  EXPECT_EQ(world.engine.expected_mechanism(online, kAbilities), std::nullopt);
  EXPECT_EQ(world.engine.expected_mechanism(normal, kAbilities), std::nullopt);
}

TEST(ExpectedMechanism, IsTheNextBestAfterAFailure) {
  World world;
  const ProcessId training = world.offline(), server = world.online();
  world.of(training).refuses[Mechanism::self_debug] = EIO;
  world.set_busy(server, true);
  world.run_for(100 * kMs);
  ASSERT_TRUE(world.stopped(training));
  EXPECT_EQ(world.engine.expected_mechanism(training, kAbilities), Mechanism::debugger);
}

TEST(Preparation, IsDoneAgainWhenAnAgentThatCameLaterHasGone) {
  World world;
  const ProcessId id = world.add(of_class(WorkClass::offline), {});
  world.run_for(100 * kMs);
  ASSERT_EQ(world.of(id).prepares, 1);
  world.of(id).has_page = true;
  world.engine.agent_joined(world.now_ns, id, kAbilities);
  world.settle();
  world.run_for(100 * kMs);
  EXPECT_EQ(world.of(id).prepares, 1) << "a process has one debugger";
  world.of(id).has_page = false;
  world.engine.agent_left(world.now_ns, id);
  world.settle();
  EXPECT_EQ(world.of(id).prepares, 2);
}

}  // namespace
}  // namespace gp::sched
