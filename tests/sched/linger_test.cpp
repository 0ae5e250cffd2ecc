// What the engine makes of an online program's gaps: how often offline work is stopped for it.
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

// One request of a language model: token after token, the CPU's work between them.
void answer(World& world, ProcessId server, int tokens, u64 gap_ns) {
  for (int token = 0; token < tokens; ++token) {
    world.set_busy(server, true);
    world.of(server).activity.completed++;
    world.run_for(5 * kMs);
    world.set_busy(server, false);
    world.run_for(gap_ns);
  }
  world.run_for(500 * kMs);
}

TEST(TheLinger, StopsOfflineWorkOncePerRequestOfManyTokens) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  world.of(training).takes_ns = 3 * kMs;
  for (int request = 0; request < 5; ++request) {
    answer(world, server, 16, 8 * kMs);
  }
  const u64 before = world.job(training).preemptions;
  for (int request = 0; request < 10; ++request) {
    answer(world, server, 16, 8 * kMs);
  }
  EXPECT_EQ(world.job(training).preemptions, before + 10);
  const JobReport report = world.job(server);
  ASSERT_TRUE(report.linger.has_value());
  EXPECT_EQ(report.linger->source, policy::LingerSource::gaps);
  EXPECT_GE(report.gap_p50_ns.value_or(0), 8 * kMs);
}

TEST(TheLinger, GivesTheGpuBackAtOnceAfterRequestsThatAreFarApart) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  for (int request = 0; request < 20; ++request) {
    answer(world, server, 1, 100 * kMs);
  }
  world.set_busy(server, true);
  world.run_for(5 * kMs);
  world.set_busy(server, false);
  EXPECT_EQ(world.job(training).state, "starting");
}

// Six processes whose stops wait for each other in the driver, and a request every 10 ms.
TEST(TheLinger, LeavesOfflineWorkStoppedWhereStopsTakeLongerThanGaps) {
  World world;
  const ProcessId server = world.online();
  std::vector<ProcessId> trainers;
  for (u64 i = 1; i <= 6; ++i) {
    trainers.push_back(world.offline());
    world.of(trainers.back()).takes_ns = 3 * i * kMs;
  }
  const auto serve = [&](int requests) {
    for (int request = 0; request < requests; ++request) {
      world.set_busy(server, true);
      world.of(server).activity.completed++;
      world.run_for(4 * kMs);
      world.set_busy(server, false);
      world.run_for(6 * kMs);
    }
  };
  serve(100);
  const u64 before = world.job(trainers.front()).preemptions;
  serve(300);
  EXPECT_EQ(world.job(trainers.front()).preemptions, before);
  world.run_for(kSecond);
  EXPECT_TRUE(world.engine.all_running());
}

// The first stop of a process takes long, because much is done then for the first time; here the
// second does, too. While it is stopped nothing else is measured.
TEST(TheLinger, ASlowStopDoesNotKeepAJobStoppedForGood) {
  World world;
  const ProcessId server = world.online(), training = world.offline();
  const auto serve = [&](int requests, u64 busy_ns, u64 gap_ns) {
    for (int request = 0; request < requests; ++request) {
      world.set_busy(server, true);
      world.of(server).activity.completed++;
      world.run_for(busy_ns);
      world.set_busy(server, false);
      world.run_for(gap_ns);
    }
  };
  world.of(training).takes_ns = 40 * kMs;
  serve(1, 100 * kMs, 200 * kMs);
  serve(1, 100 * kMs, 23 * kMs);
  ASSERT_TRUE(world.stopped(training));
  world.of(training).takes_ns = kMs / 2;
  serve(400, 2 * kMs, 23 * kMs);
  const u64 before = world.job(training).stopped_total_ns;
  serve(400, 2 * kMs, 23 * kMs);
  const u64 stopped_ns = world.job(training).stopped_total_ns - before;
  EXPECT_LT(stopped_ns, 5 * kSecond) << "of 10 s, of which online work took 0.8";
}

// A process that joins a job that has been stopped for long takes its own time to stop, not that
// of the job.
TEST(TheLinger, IsNotMisledByAProcessThatJoinsAStoppedJob) {
  World world;
  const ProcessId server = world.online(), training = world.offline("train");
  world.set_busy(server, true);
  for (int second = 0; second < 5; ++second) {
    world.of(server).activity.completed++;
    world.run_for(kSecond);
  }
  const ProcessId late = world.offline("train");
  world.run_for(10 * kMs);
  ASSERT_TRUE(world.stopped(late));
  EXPECT_LT(world.job(training).last_stop_ns.value_or(kSecond), 10 * kMs);
}

}  // namespace
}  // namespace gp::sched
