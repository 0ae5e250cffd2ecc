// Offline programs without an agent: found by looking, stopped from outside.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

using GpuOutside = DaemonTest;

TEST_F(GpuOutside, AProgramWithoutAnAgentIsStoppedByTheDebugger) {
  start_daemon();
  const auto training = victim();
  const auto server = online();
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "debugger");
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_EQ(training->ask("progress"), "progress");
}

TEST_F(GpuOutside, AProgramThatIsStoppedRunsAgainWhenTheDaemonIsKilled) {
  start_daemon();
  const auto training = victim();
  const auto server = online();
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  server->signal(SIGSTOP);  // so that the next daemon does not stop it again
  ::kill(daemon_pid(), SIGKILL);
  EXPECT_EQ(training->ask("progress"), "progress");
}

TEST_F(GpuOutside, AProgramThatCannotBeStoppedIsLeftAloneAndShown) {
  start_daemon();
  const auto training = victim({"--no-runtime"});
  const auto server = online();
  ASSERT_TRUE(eventually([&] {
    const auto job = job_of(training->pid());
    return job.contains("processes") && !job["processes"][0]["not_better"].empty();
  }));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(server->pid())["busy"] == true; }));
  EXPECT_EQ(training->ask("progress"), "progress");
  EXPECT_TRUE(job_of(training->pid())["mechanism"].is_null());
}

}  // namespace
}  // namespace gp::daemon
