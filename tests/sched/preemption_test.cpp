// One preemption and what may happen around it.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

TEST(Preemption, OnlineWorkStopsOfflineWorkAndGivesItBack) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(training));
  EXPECT_EQ(world.job(training).state, "stopped");
  EXPECT_FALSE(world.stopped(server));
  world.set_busy(server, false);
  world.run_for(100 * kMs);
  EXPECT_FALSE(world.stopped(training));
  EXPECT_EQ(world.job(training).state, "running");
  EXPECT_EQ(world.job(training).preemptions, 1U);
}

TEST(Preemption, IsKeptForAsLongAsOnlineWorkMakesProgress) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  for (int second = 0; second < 120; ++second) {
    world.of(server).activity.completed++;
    world.run_for(1 * kSecond);
    ASSERT_TRUE(world.stopped(training)) << "after " << second << " s";
  }
  EXPECT_EQ(world.overdue, 0U);
  EXPECT_EQ(world.of(training).stops, 1U) << "a stopped process was stopped again";
}

TEST(Preemption, EndsWhenOnlineWorkHangs) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(60 * kSecond);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, EndsWhenTheOnlineProcessGoes) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(training));
  world.remove(server);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, IsTakenBackWhenOnlineWorkIsDoneBeforeItIsThere) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.of(training).takes_ns = 500 * kMs;
  world.set_busy(server, true);
  world.run_for(1 * kMs);
  world.set_busy(server, false);
  world.run_for(2 * kSecond);
  EXPECT_FALSE(world.stopped(training));
  EXPECT_EQ(world.job(training).state, "running");
  EXPECT_EQ(world.overdue, 0U);
}

TEST(Preemption, OfASlowJobDoesNotDelayAnother) {
  World world;
  const ProcessId server = world.online(), slow = world.offline(), quick = world.offline();
  world.of(slow).takes_ns = 500 * kMs;
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(quick));
  EXPECT_FALSE(world.stopped(slow));
}

TEST(Preemption, OfOneHundredJobsStopsAllAndStartsAll) {
  World world;
  const ProcessId server = world.online();
  std::vector<ProcessId> jobs;
  for (int i = 0; i < 100; ++i) {
    jobs.push_back(world.offline());
  }
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  for (const ProcessId id : jobs) {
    ASSERT_TRUE(world.stopped(id));
  }
  world.set_busy(server, false);
  world.run_for(100 * kMs);
  EXPECT_TRUE(world.engine.all_running());
}

TEST(Preemption, NeverExceedsItsRateButDelaysStarts) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.of(training).takes_ns = 10 * kUs;
  constexpr int kSeconds = 10;
  for (int i = 0; i < kSeconds * 1000; ++i) {
    world.set_busy(server, true);
    world.run_for(500 * kUs);
    EXPECT_TRUE(world.stopped(training));
    world.set_busy(server, false);
    world.run_for(500 * kUs);
  }
  const Settings defaults;
  EXPECT_LE(world.of(training).stops,
            defaults.stops_at_once + defaults.stops_per_second * kSeconds + 1);
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, IsMeasuredStepByStep) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.of(training).takes_ns = 400 * kUs;
  world.of(server).activity.busy = true;
  world.of(server).activity.busy_since_ns = world.now_ns;
  world.run_for(30 * kUs);  // until the daemon wakes up
  world.engine.woken(server);
  world.settle();
  world.run_for(10 * kMs);
  const Report report = world.engine.report(world.now_ns);
  EXPECT_EQ(report.notify_to_decision.max_ns, 30 * kUs);
  EXPECT_EQ(report.decision_to_ioctl.max_ns, 200 * kUs);
  EXPECT_EQ(report.notify_to_ioctl.max_ns, 230 * kUs);
  EXPECT_EQ(report.ioctl.max_ns, 200 * kUs);
  EXPECT_EQ(report.busy_to_stopped.max_ns, 430 * kUs);
  EXPECT_EQ(world.job(training).last_stop_ns, 400 * kUs);
  EXPECT_EQ(report.busy_to_stopped.count, 1U);
}

TEST(Preemption, NeedsNoWakeUpsWhileNothingHappens) {
  World world;
  const ProcessId server = world.online();
  world.offline();
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  world.set_busy(server, false);
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.engine.wake_ns().has_value());
  EXPECT_FALSE(world.engine.earliest_deadline_ns().has_value());
}

TEST(Preemption, FollowsMarksOfAProcessWithoutPackets) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.engine.online_begin(world.now_ns, server, std::nullopt);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(training));
  world.engine.online_end(world.now_ns, server);
  world.settle();
  world.run_for(100 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, FollowsMarksAlsoWhenTheAgentHasLeft) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.engine.set_queues(world.now_ns, server, QueueSource::seen, {{1, 1}}, true);
  world.engine.online_begin(world.now_ns, server, std::nullopt);
  world.engine.agent_left(world.now_ns, server);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_TRUE(world.stopped(training));
  world.engine.online_end(world.now_ns, server);
  world.settle();
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, IsNotBelievedToEndInTheFuture) {
  World world;
  const ProcessId liar = world.online(), training = world.offline();
  world.set_busy(liar, true);
  world.run_for(10 * kMs);
  world.of(liar).activity.busy = false;
  world.of(liar).activity.idle_since_ns = world.now_ns + 3600 * kSecond;
  world.engine.woken(liar);
  world.settle();
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, OfAJobThatAClientHoldsLastsUntilItLetsGo) {
  World world;
  const ProcessId training = world.offline();
  world.engine.hold(world.now_ns, training, 7, world.now_ns + 10 * kSecond);
  world.settle();
  world.run_for(5 * kSecond);
  EXPECT_TRUE(world.stopped(training));
  world.engine.release(world.now_ns, 7, training);
  world.settle();
  world.run_for(100 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, OfAJobThatAClientHoldsEndsInTime) {
  World world;
  const ProcessId training = world.offline();
  world.engine.hold(world.now_ns, training, 7, world.now_ns + 3 * kSecond);
  world.settle();
  world.run_for(3 * kSecond + 100 * kMs);
  EXPECT_FALSE(world.stopped(training));
}

TEST(Preemption, EndsForAllWhenTheEngineCloses) {
  World world;
  const ProcessId server = world.online(), training = world.offline(), other = world.offline();
  world.engine.hold(world.now_ns, other, 7, world.now_ns + 100 * kSecond);
  world.set_busy(server, true);
  world.run_for(10 * kMs);
  world.engine.close(world.now_ns);
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(training));
  EXPECT_FALSE(world.stopped(other));
  EXPECT_TRUE(world.engine.all_running());
}

}  // namespace
}  // namespace gp::sched
