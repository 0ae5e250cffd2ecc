// Programs in a container: pid and mount namespaces of their own, where the daemon's socket and the
// agent are bind-mounted to other places and nothing else of ours is to be seen. docs/containers.md
#include <fmt/format.h>

#include <fstream>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

constexpr char kUnshare[] = "/usr/bin/unshare";

class GpuContainer : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    if (Program({kUnshare, "--pid", "--mount", "--fork", "/bin/true"}, {}).wait() != 0) {
      GTEST_SKIP() << "namespaces cannot be made here: root, or a container that may";
    }
    start_daemon();
  }

  // The socket's directory is at /mnt/run and the agent in /mnt/lib; where they are outside is
  // covered up. The program is the container's init, pid 1.
  std::unique_ptr<Program> contained(const std::string& program, Environment environment) {
    const std::string script = fmt::format(
        "set -e; mount -t tmpfs none /mnt; mkdir /mnt/run /mnt/lib; "
        "mount --bind {0} /mnt/run; mount --bind {1} /mnt/lib; mount -t tmpfs none {0}; "
        "exec {2}",
        directory(), GPREEMPT_LIB_DIR, program);
    environment["GPREEMPT_SOCKET"] = "/mnt/run/gpreemptd.sock";
    auto started =
        std::make_unique<Program>(Words{kUnshare, "--pid", "--mount", "--fork", "--kill-child",
                                        "--mount-proc", "/bin/sh", "-c", script},
                                  environment);
    EXPECT_EQ(started->line(), "ready");
    return started;
  }
  std::unique_ptr<Program> contained_puppet(const std::string& work_class) {
    return contained(GPREEMPT_HIP_DIR "/agent_puppet",
                     {{"HSA_TOOLS_LIB", "/mnt/lib/libgpreempt_agent.so"},
                      {"GPREEMPT_CLASS", work_class},
                      {"GPREEMPT_JOB", work_class + " container"}});
  }

  // The pid outside of the program that `started` has put into its container.
  pid_t pid_in(const Program& started) {
    pid_t child = 0;
    std::ifstream(fmt::format("/proc/{0}/task/{0}/children", started.pid())) >> child;
    return child;
  }
  static bool is_init(pid_t pid) {
    std::ifstream status(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("NSpid:")) {
        return line == fmt::format("NSpid:\t{}\t1", pid);
      }
    }
    return false;
  }
};

TEST_F(GpuContainer, AnOfflineProgramInsideIsStoppedByOnlineWorkOutside) {
  const auto training = contained_puppet("offline");
  const auto server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  const pid_t pid = pid_in(*training);
  ASSERT_TRUE(is_init(pid)) << "the container has no pid namespace of its own";
  ASSERT_TRUE(has_state(pid, "running")) << "the daemon knows it by another pid";
  EXPECT_EQ(job_of(pid)["job"], "offline container");
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(pid, "stopped"));
  EXPECT_EQ(job_of(pid)["mechanism"], "self-debug");
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(pid, "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuContainer, OnlineWorkInsideStopsAnOfflineProgramInAnotherContainer) {
  const auto training = contained_puppet("offline");
  const auto server = contained_puppet("online");
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  ASSERT_EQ(server->ask("launch"), "ok");
  EXPECT_TRUE(has_state(pid_in(*training), "stopped"));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(pid_in(*training), "running"));
}

TEST_F(GpuContainer, AProgramInsideWithoutAnAgentIsStoppedFromOutside) {
  const auto training =
      contained(GPREEMPT_HIP_DIR "/mechanism_victim", {{"GPREEMPT_CLASS", "offline"}});
  const auto server = online();
  const pid_t pid = pid_in(*training);
  ASSERT_TRUE(has_state(pid, "running"));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(pid, "stopped"));
  EXPECT_EQ(job_of(pid)["mechanism"], "debugger");
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(pid, "running"));
}

// For others in containers: what is inside has no say over the host (policy/owner.h).
TEST_F(GpuContainer, AMarkMadeInsideCountsForTheProcessThatMadeIt) {
  const auto training = contained_puppet("offline");
  const auto server = contained(GPREEMPT_BIN_DIR "/scheduler_program", {});
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  ASSERT_EQ(server->ask("begin"), "0");
  EXPECT_TRUE(has_state(pid_in(*training), "stopped"));
  EXPECT_EQ(job_of(pid_in(*server))["class"], "online");
  ASSERT_EQ(server->ask("end"), "0");
  EXPECT_TRUE(has_state(pid_in(*training), "running"));
}

}  // namespace
}  // namespace gp::daemon
