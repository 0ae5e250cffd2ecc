// Who hangs instead of dying, drivers that fail or take their time, and crowds.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

class GpuHang : public DaemonTest {
 protected:
  void TearDown() override {
    EXPECT_TRUE(gpu.inject("clear"));
    server.reset();
    training.reset();
    DaemonTest::TearDown();
  }
  void start(const std::string& config) {
    start_daemon(config);
    training = offline();
    server = online();
    ASSERT_EQ(training->ask("launch"), "ok");
    ASSERT_TRUE(runs(*training));
    ASSERT_EQ(server->ask("default"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "running"));
  }
  void stop_the_training() {
    ASSERT_EQ(server->ask("launch"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
  }
  void finish_the_request() {
    ASSERT_EQ(server->ask("finish"), "ok");
    EXPECT_TRUE(has_state(training->pid(), "running"));
    EXPECT_TRUE(runs(*training));
    EXPECT_TRUE(eventually([&] { return !gpu.has_stopped_queues(); }));
  }
  // How the newest way that was tried ended, for each process of the training.
  nlohmann::json not_better() { return job_of(training->pid())["processes"][0]["not_better"]; }

  VirtualGpu gpu = VirtualGpu::given();
  std::unique_ptr<Program> training, server;
};

TEST_F(GpuHang, OfTheDaemonIsEndedByTheGuardian) {
  ASSERT_NO_FATAL_FAILURE(start("lease = \"1s\"\n"));
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
  const pid_t before = daemon_pid();
  ::kill(before, SIGSTOP);
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
}

TEST_F(GpuHang, OfADaemonThatCannotDieIsSaidOnceAndWaitedFor) {
  use_environment({{"LD_PRELOAD", fmt::format("{}:{}", std::getenv("LD_PRELOAD"),
                                              GPREEMPT_LIB_DIR "/libno_death.so")}});
  ASSERT_NO_FATAL_FAILURE(start("lease = \"200ms\"\n"));
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
  const pid_t before = daemon_pid();
  ::kill(before, SIGSTOP);
  const std::string said = "missed a deadline";
  ASSERT_TRUE(eventually([&] { return log().find(said) != std::string::npos; }));
  EXPECT_TRUE(runs(*training));
  EXPECT_FALSE(guardian().ended());
  ::kill(before, SIGKILL);
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
  const std::string all = log();
  EXPECT_EQ(all.find(said), all.rfind(said));
}

TEST_F(GpuHang, OfTheDaemonWhileItStopsIsEndedByTheGuardian) {
  ASSERT_NO_FATAL_FAILURE(start("lease = \"500ms\"\nanswer = \"10s\"\n"));
  ASSERT_TRUE(gpu.inject("unmap-delay=600ms"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopping"));
  const pid_t before = daemon_pid();
  ::kill(before, SIGSTOP);
  ASSERT_TRUE(gpu.inject("clear"));
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_NO_FATAL_FAILURE(finish_the_request());
}

TEST_F(GpuHang, OfTheDaemonWhileItStopsFromOutsideIsEndedByTheGuardian) {
  start_daemon("lease = \"500ms\"\n");
  training = victim();
  server = online();
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_TRUE(gpu.inject("unmap-delay=600ms"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopping"));
  const pid_t before = daemon_pid();
  ::kill(before, SIGSTOP);
  ASSERT_TRUE(gpu.inject("clear"));
  EXPECT_EQ(training->ask("progress"), "progress");
  EXPECT_TRUE(eventually([&] { return daemon_pid() != before; }));
}

// As `systemctl kill --signal=STOP` makes them: there is one more who keeps the deadline.
TEST_F(GpuHang, OfDaemonAndGuardianTogetherEndsAtTheDeadlineOfTheKeeper) {
  start_daemon("lease = \"500ms\"\n");
  training = victim();
  server = online();
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  const pid_t daemon = daemon_pid();
  guardian().signal(SIGSTOP);
  ::kill(daemon, SIGSTOP);
  EXPECT_EQ(training->ask("progress"), "progress");
  ::kill(daemon, SIGCONT);
  guardian().signal(SIGCONT);
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

TEST_F(GpuHang, OfTheOnlineProgramWhileBusyEndsWhenItMakesNoProgress) {
  ASSERT_NO_FATAL_FAILURE(start("lease = \"1s\"\n[parameters]\nmax_stop = \"300ms\"\n"));
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
  server->signal(SIGSTOP);
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
  server->signal(SIGCONT);
  ASSERT_NO_FATAL_FAILURE(finish_the_request());
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
}

TEST_F(GpuHang, OfTheOfflineProgramIsUndoneWhenItWakes) {
  ASSERT_NO_FATAL_FAILURE(start(
      "lease = \"1s\"\nanswer = \"100ms\"\nretry = \"100ms\"\nmechanisms = [\"self-debug\"]\n"));
  training->signal(SIGSTOP);  // its agent hears nothing
  ASSERT_EQ(server->ask("launch"), "ok");
  EXPECT_TRUE(eventually([&] { return !job_of(training->pid())["error"].is_null(); }));
  EXPECT_TRUE(runs(*server));
  ASSERT_EQ(server->ask("finish"), "ok");
  training->signal(SIGCONT);
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return !gpu.has_stopped_queues(); }));
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

TEST_F(GpuHang, OfADriverForHalfASecondIsWaitedFor) {
  ASSERT_NO_FATAL_FAILURE(start(""));
  ASSERT_TRUE(gpu.inject("unmap-delay=500ms"));
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
  EXPECT_TRUE(runs(*server));
  const nlohmann::json job = job_of(training->pid());
  EXPECT_EQ(job["mechanism"], "self-debug");
  EXPECT_EQ(job["failures"], 0);
  ASSERT_NO_FATAL_FAILURE(finish_the_request());
}

TEST_F(GpuHang, OfADriverForLongerThanAnAnswerMayTakeLeavesNothingStopped) {
  ASSERT_NO_FATAL_FAILURE(start("answer = \"100ms\"\nmechanisms = [\"self-debug\"]\n"));
  ASSERT_TRUE(gpu.inject("unmap-delay=500ms"));
  ASSERT_EQ(server->ask("launch"), "ok");
  EXPECT_TRUE(eventually([&] { return job_of(training->pid())["failures"] > 0; }));
  ASSERT_TRUE(gpu.inject("clear"));
  EXPECT_TRUE(eventually([&] { return !gpu.has_stopped_queues(); }));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuHang, AMechanismThatFailsIsReplacedByTheNextBest) {
  ASSERT_NO_FATAL_FAILURE(start(""));
  ASSERT_TRUE(gpu.inject("suspend-fails=1"));
  ASSERT_NO_FATAL_FAILURE(stop_the_training());
  EXPECT_NE(job_of(training->pid())["mechanism"], "self-debug");
  EXPECT_FALSE(not_better().empty());
  ASSERT_NO_FATAL_FAILURE(finish_the_request());
}

TEST_F(GpuHang, MechanismsThatAllFailLeaveTheJobRunningAndAreTriedAgain) {
  ASSERT_NO_FATAL_FAILURE(start("retry = \"100ms\"\nmechanisms = [\"self-debug\"]\n"));
  ASSERT_TRUE(gpu.inject("suspend-fails=1000"));
  ASSERT_EQ(server->ask("launch"), "ok");
  EXPECT_TRUE(eventually([&] { return job_of(training->pid())["failures"] > 0; }));
  EXPECT_TRUE(runs(*training));
  EXPECT_TRUE(eventually([&] { return !gpu.has_stopped_queues(); }));
  ASSERT_TRUE(gpu.inject("clear"));
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  ASSERT_NO_FATAL_FAILURE(finish_the_request());
}

}  // namespace
}  // namespace gp::daemon
