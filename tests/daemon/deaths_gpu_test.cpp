// Whoever dies or hangs while offline work is stopped: it runs again, and the next request is
// served.
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuDeaths : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    start_daemon("lease = \"1s\"\n");
    training = offline();
    server = online();
    ASSERT_EQ(training->ask("launch"), "ok");
    ASSERT_TRUE(runs(*training));
    ASSERT_EQ(server->ask("launch"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
  }
  void TearDown() override {
    server.reset();
    training.reset();
    DaemonTest::TearDown();
  }
  std::unique_ptr<Program> training, server;
};

// The server is held still meanwhile: the new daemon must not stop the training again before it
// has been seen to run.
TEST_F(GpuDeaths, OfTheDaemonStartsOfflineWorkAndBringsANewDaemon) {
  const pid_t before = daemon_pid();
  server->signal(SIGSTOP);
  ::kill(before, SIGKILL);
  EXPECT_TRUE(runs(*training));
  EXPECT_NE(daemon_pid(), before);
  server->signal(SIGCONT);
  EXPECT_TRUE(has_state(training->pid(), "stopped"))
      << "the new daemon does not know that the server is busy";
}

TEST_F(GpuDeaths, OfADaemonThatIsMerelyStopped) {
  const pid_t before = daemon_pid();
  server->signal(SIGSTOP);  // as above
  ::kill(before, SIGSTOP);
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
}

TEST_F(GpuDeaths, OfTheGuardianEndsTheDaemonInGoodOrder) {
  const pid_t daemon = daemon_pid();
  guardian().signal(SIGKILL);
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return ::kill(daemon, 0) != 0; }));
}

TEST_F(GpuDeaths, OfTheOnlineProgramStartsOfflineWork) {
  server->signal(SIGKILL);
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuDeaths, OfTheStoppedProgramEndsItsLease) {
  training->signal(SIGKILL);
  training->wait();
  EXPECT_TRUE(eventually([&] { return job_of(training->pid())["state"].is_null(); }));
  training = offline();
  training->say("launch");  // not answered: its first packet already waits
  EXPECT_TRUE(has_state(training->pid(), "stopped")) << "the next one is not served";
}

TEST_F(GpuDeaths, InGoodOrderStartsEverything) {
  EXPECT_EQ(stop_daemon(), 0);
  EXPECT_TRUE(runs(*training));
}

}  // namespace
}  // namespace gp::daemon
