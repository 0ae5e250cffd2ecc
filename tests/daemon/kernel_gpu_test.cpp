// The mechanism `kernel` in the daemon, on a driver that has the preemption calls: every case has a
// device of its own.
#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"

namespace gp::daemon {
namespace {

class GpuKernel : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    use_environment(gpu_.environment());
  }
  VirtualGpu& gpu() { return gpu_; }
  // Until the daemon has looked at the process and knows how to stop it.
  bool is_ready(pid_t pid) {
    return eventually([&] {
      const auto job = job_of(pid);
      return job.is_object() && !job["gpu_ids"].empty() && job["mechanism"] == "kernel" &&
             job["state"] == "running";
    });
  }

 private:
  VirtualGpu gpu_ = VirtualGpu::own({"--kernel-patches"});
};

TEST_F(GpuKernel, IsTheFirstChoiceForAProgramWithAnAgent) {
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(is_ready(training->pid()));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "kernel");
  EXPECT_TRUE(stands_still(*training));
  EXPECT_TRUE(runs(*server));
  ASSERT_EQ(server->ask("finish"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
  EXPECT_GT(status()["latency"]["ioctl_us"]["max"], 0);
}

TEST_F(GpuKernel, StopsAProgramWithoutAnAgentOrARuntimeThatCanBeDebugged) {
  start_daemon();
  const auto training = victim({"--no-runtime"});
  const auto server = online();
  ASSERT_TRUE(is_ready(training->pid()));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_EQ(training->ask("progress"), "progress");
}

TEST_F(GpuKernel, CanBeExcludedByTheConfiguration) {
  start_daemon("mechanisms = [\"debugger\", \"self-debug\"]\n");
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "running"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "self-debug");
}

// Three processes, two of one job and one of another: a decision is one unmap and one run list.
TEST_F(GpuKernel, StopsAndStartsAllProcessesOfADecisionWithOneUnmapEach) {
  start_daemon();
  const auto rank0 = offline({{"GPREEMPT_JOB", "train"}});
  const auto rank1 = offline({{"GPREEMPT_JOB", "train"}});
  const auto other = offline();
  // It says itself when it has online work: a request of a HIP program is several bursts, and each
  // may be a decision.
  Environment of_server = gpu().environment();
  of_server["GPREEMPT_SOCKET"] = socket();
  Program server({GPREEMPT_BIN_DIR "/scheduler_program"}, of_server);
  ASSERT_EQ(server.line(), "ready");  // its queue is made: that was an unmap, too
  const std::vector<Program*> all = {rank0.get(), rank1.get(), other.get()};
  for (Program* each : all) {
    ASSERT_EQ(each->ask("launch"), "ok");
    ASSERT_TRUE(is_ready(each->pid()));
    ASSERT_TRUE(runs(*each));
  }
  ASSERT_TRUE(eventually([&] { return !job_of(server.pid())["state"].is_null(); }));
  const VirtualGpu::Counts before = gpu().counts();
  ASSERT_EQ(server.ask("begin"), "0");
  for (Program* each : all) {
    ASSERT_TRUE(has_state(each->pid(), "stopped"));
  }
  ASSERT_EQ(server.ask("end"), "0");
  for (Program* each : all) {
    ASSERT_TRUE(has_state(each->pid(), "running"));
  }
  const VirtualGpu::Counts after = gpu().counts();
  EXPECT_EQ(after.unmaps, before.unmaps + 2);
  EXPECT_EQ(after.run_lists, before.run_lists + 2);
  for (Program* each : all) {
    EXPECT_TRUE(runs(*each));
  }
}

TEST_F(GpuKernel, WhatIsStoppedRunsAgainWhenTheDaemonIsKilled) {
  start_daemon();
  const auto training = victim({"--no-runtime"});
  const auto server = online();
  ASSERT_TRUE(is_ready(training->pid()));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  server->signal(SIGSTOP);  // so that the next daemon does not stop it again
  ::kill(daemon_pid(), SIGKILL);
  EXPECT_EQ(training->ask("progress"), "progress");
  ASSERT_TRUE(eventually([&] { return !gpu().has_stopped_queues(); }));
  EXPECT_EQ(log().find("left stopped by a daemon before"), std::string::npos);
}

// The guardian would kill it at its deadline; the kernel's own deadline needs nobody.
TEST_F(GpuKernel, WhatIsStoppedRunsAgainWhenDaemonAndGuardianHang) {
  start_daemon("lease = \"500ms\"\n");
  const auto training = victim({"--no-runtime"});
  const auto server = online();
  ASSERT_TRUE(is_ready(training->pid()));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  const pid_t daemon = daemon_pid();
  guardian().signal(SIGSTOP);
  ::kill(daemon, SIGSTOP);
  EXPECT_EQ(training->ask("progress"), "progress");
  guardian().signal(SIGKILL);
  ::kill(daemon, SIGKILL);
}

TEST_F(GpuKernel, StopsAndStartsManyTimesWithoutLosingAProgram) {
  start_daemon("stops_per_second = 10000\nstops_at_once = 10000\n");
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(is_ready(training->pid()));
  for (int i = 0; i < 20; ++i) {
    ASSERT_EQ(server->ask("default"), "ok");
  }
  ASSERT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
  EXPECT_GE(job_of(training->pid())["preemptions"], 1);
  EXPECT_EQ(job_of(training->pid())["failures"], 0);
}

TEST_F(GpuKernel, SlotsAreReservedAsTheConfigurationAsks) {
  start_daemon("[reserve]\nonline_percent = 10\noffline_percent = 80\n");
  EXPECT_EQ(status()["nodes"][0]["reserved_slots"], 5);  // of 24
  EXPECT_TRUE(status()["kernel"]["available"]);
  write_config("");
  guardian().signal(SIGHUP);
  EXPECT_TRUE(eventually([&] { return status()["nodes"][0]["reserved_slots"].is_null(); }));
}

using GpuStock = DaemonTest;

TEST_F(GpuStock, ADriverWithoutThePatchesIsShownAsSuch) {
  start_daemon("[reserve]\nslots = 2\n");
  const auto now = status();
  EXPECT_FALSE(now["kernel"]["available"]);
  EXPECT_NE(now["kernel"]["reason"].get<std::string>().find("no preemption calls"),
            std::string::npos);
  EXPECT_TRUE(now["nodes"][0]["reserved_slots"].is_null());
  EXPECT_TRUE(now["nodes"][0]["reservation_error"].is_string());
}

}  // namespace
}  // namespace gp::daemon
