// Online programs without an agent: their rings are read, where the configuration says so.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuRings : public DaemonTest {
 protected:
  std::unique_ptr<Program> server(const Environment& environment = {
                                      {"AMD_QUEUE_TAG", "ONLINE_AI"}}) {
    return puppet(environment);
  }
  nlohmann::json process(pid_t pid) {
    const auto job = job_of(pid);
    return job.contains("processes") ? job["processes"][0] : nlohmann::json();
  }
  bool is_read(pid_t pid) {
    return eventually([&] {
      const auto now = process(pid);
      return now.is_object() && now["rings_are_read"] == true;
    });
  }
};

constexpr char kReading[] = "read_rings = true\n";

TEST_F(GpuRings, WorkOfATaggedProgramStopsOfflineWorkAndItsEndStartsIt) {
  start_daemon(kReading);
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("work"), "ok");  // it has queues from now on
  ASSERT_TRUE(is_read(online->pid()));
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_TRUE(stands_still(*training));
  EXPECT_TRUE(runs(*online));
  EXPECT_EQ(process(online->pid())["agent"], false);
  EXPECT_EQ(process(online->pid())["work_unseen"], false);
  ASSERT_EQ(online->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuRings, APriorityInTheEnvironmentOrARuleWillDo) {
  start_daemon(std::string(kReading) +
               "[[classes.rule]]\ncommand = \"agent_puppet\"\nclass = \"online\"\n");
  const auto training = offline();  // as which it was started: that is stronger than a rule
  ASSERT_EQ(training->ask("launch"), "ok");
  for (const Environment& environment : {Environment{{"AMD_QUEUE_PRIORITY", "15"}}, {}}) {
    const auto online = server(environment);
    ASSERT_EQ(online->ask("launch"), "ok");
    EXPECT_TRUE(has_state(training->pid(), "stopped"));
    online->signal(SIGKILL);  // while it is busy
    ASSERT_TRUE(has_state(training->pid(), "running"));
    EXPECT_TRUE(runs(*training));
  }
}

// The kernel runs for longer than the packet processor needs to read its packet.
TEST_F(GpuRings, AKernelThatRunsIsWorkThoughItsPacketIsRead) {
  start_daemon(kReading);
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(job_of(training->pid())["state"], "stopped");
  EXPECT_TRUE(runs(*online));
}

TEST_F(GpuRings, NothingIsReadWhileNobodyCouldBeStopped) {
  start_daemon(kReading);
  const auto online = server();
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return process(online->pid()).is_object(); }));
  EXPECT_EQ(process(online->pid())["rings_are_read"], false);
  {
    const auto training = offline();
    ASSERT_TRUE(training->say("launch"));  // it may be stopped before it can answer
    EXPECT_TRUE(is_read(online->pid()));
    EXPECT_TRUE(has_state(training->pid(), "stopped"));
  }
  EXPECT_TRUE(eventually([&] { return process(online->pid())["rings_are_read"] == false; }));
}

TEST_F(GpuRings, AProgramThatRunsAnotherIsOnlineNoMore) {
  start_daemon(kReading);
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_TRUE(online->say("exec"));
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

TEST_F(GpuRings, OfflineWorkRunsWhenTheDaemonIsKilledAndIsStoppedAgainByTheNext) {
  start_daemon(kReading);
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  const pid_t before = daemon_pid();
  ::kill(before, SIGKILL);
  ASSERT_TRUE(eventually([&] { return daemon_pid() != before; }));
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_EQ(online->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

TEST_F(GpuRings, AReloadTurnsItOffAndStartsWhatWasStopped) {
  start_daemon(kReading);
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  write_config("");
  ::kill(daemon_pid(), SIGHUP);
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_EQ(process(online->pid())["work_unseen"], true);
}

TEST_F(GpuRings, WithoutAWordNobodyCanTellAndThatIsSaid) {
  start_daemon();
  const auto training = offline();
  const auto online = server();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(online->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] {
    const auto now = process(online->pid());
    return now.is_object() && now["work_unseen"] == true;
  }));
  EXPECT_EQ(process(online->pid())["rings_are_read"], false);
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return log().find("nobody can tell") != std::string::npos; }));
}

}  // namespace
}  // namespace gp::daemon
