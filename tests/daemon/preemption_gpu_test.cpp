// Online HIP programs stop offline ones by themselves, and give the GPU back.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

using GpuPreemption = DaemonTest;

TEST_F(GpuPreemption, OnlineWorkStopsOfflineWorkAndGivesItBack) {
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_TRUE(stands_still(*training));
  EXPECT_TRUE(runs(*server));
  const auto job = job_of(training->pid());
  EXPECT_EQ(job["class"], "offline");
  EXPECT_EQ(job["mechanism"], "self-debug");
  EXPECT_EQ(job["level"], 3);
  ASSERT_EQ(server->ask("finish"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
  const auto latency = status()["latency"];
  EXPECT_GE(latency["busy_to_stopped_us"]["count"], 1);
  EXPECT_GT(latency["notify_to_decision_us"]["p50"], 0);
  EXPECT_GT(latency["ioctl_us"]["max"], 0);
}

TEST_F(GpuPreemption, ResultsAreTheSameHoweverOftenAJobIsStopped) {
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("work"), "ok");
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(server->ask("default"), "ok");
    ASSERT_EQ(training->ask("work"), "ok");
  }
}

TEST_F(GpuPreemption, AJobOfSeveralProcessesIsStoppedTogether) {
  start_daemon();
  const auto rank0 = offline({{"GPREEMPT_JOB", "train"}});
  const auto rank1 = offline({{"GPREEMPT_JOB", "train"}});
  const auto server = online();
  ASSERT_EQ(rank0->ask("launch"), "ok");
  ASSERT_EQ(rank1->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(rank0->pid())["pids"].size() == 2; }));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(rank0->pid(), "stopped"));
  EXPECT_TRUE(stands_still(*rank0));
  EXPECT_TRUE(stands_still(*rank1));
}

TEST_F(GpuPreemption, AClientHoldsAJobUntilItLetsGo) {
  start_daemon();
  const auto training = offline();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  ASSERT_TRUE(eventually([&] { return !job_of(training->pid())["gpu_ids"].empty(); }));
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  wire::Suspend suspend;
  suspend.pid = static_cast<u32>(training->pid());
  suspend.duration_ns = 60'000'000'000;
  const Status suspended = client->ask(suspend);
  ASSERT_TRUE(suspended) << suspended.error().message();
  EXPECT_TRUE(stands_still(*training));
  client = wire::Client::connect(socket());  // the first connection ends, and its hold with it
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuPreemption, MarksOfAProgramCountAsWork) {
  start_daemon();
  const auto training = offline();
  const auto server = online();
  ASSERT_EQ(server->ask("default"), "ok");  // it has queues now
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  // This process speaks for itself, but has no queues on the GPU: nobody is in its way.
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  EXPECT_TRUE(client->ask(wire::OnlineMark{}));
  EXPECT_TRUE(runs(*training));
  wire::OnlineMark end;
  end.header.kind = wire::Kind::online_end;
  EXPECT_TRUE(client->ask(end));
  EXPECT_FALSE(client->ask(end)) << "ended twice";
}

}  // namespace
}  // namespace gp::daemon
