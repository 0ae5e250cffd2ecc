// A process has one debugger: its own agent or the daemon, and they do not get into each other's
// way.
#include <filesystem>
#include <fstream>

#include "daemon/daemon_support.h"
#include "daemon/virtual_gpu.h"
#include "kfd/calls.h"
#include "mechanism/target_process.h"

namespace gp::daemon {
namespace {

class GpuOneDebugger : public DaemonTest {
 protected:
  // The agent of this program finds the daemon only when the file is there.
  std::string late_socket() const { return directory() + "/late.sock"; }
  std::unique_ptr<Program> offline_whose_agent_is_late() const {
    auto program = std::make_unique<Program>(
        Words{GPREEMPT_HIP_DIR "/agent_puppet"},
        Environment{{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"},
                    {"GPREEMPT_CLASS", "offline"},
                    {"GPREEMPT_SOCKET", late_socket()}});
    EXPECT_EQ(program->line(), "ready");
    return program;
  }
  static bool is_traced(pid_t pid) {
    std::ifstream status("/proc/" + std::to_string(pid) + "/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("TracerPid:")) {
        return line.find_first_of("123456789") != std::string::npos;
      }
    }
    return false;
  }
  nlohmann::json process_of(pid_t pid) {
    const auto job = job_of(pid);
    return job.is_null() ? job : job["processes"][0];
  }
};

TEST_F(GpuOneDebugger, IsTheAgentAlsoWhenItComesLaterThanTheDaemonsOwn) {
  start_daemon();
  const auto training = offline_whose_agent_is_late();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return is_traced(training->pid()); }));
  ASSERT_TRUE(eventually([&] { return job_of(training->pid())["mechanism"] == "debugger"; }));
  std::filesystem::create_symlink(socket(), late_socket());
  ASSERT_TRUE(eventually([&] { return process_of(training->pid())["agent"] == true; }));
  EXPECT_FALSE(is_traced(training->pid()));
  const auto server = online();
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "self-debug");
  EXPECT_TRUE(process_of(training->pid())["not_better"].empty());
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

TEST_F(GpuOneDebugger, IsTheAgentAlsoWhenItComesWhileTheProcessIsStopped) {
  start_daemon();
  const auto training = offline_whose_agent_is_late(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(training->pid())["mechanism"] == "debugger"; }));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  const auto connections = status()["connections"];
  std::filesystem::create_symlink(socket(), late_socket());
  ASSERT_TRUE(eventually([&] { return status()["connections"] > connections; }));
  EXPECT_TRUE(stands_still(*training));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "debugger");
  ASSERT_EQ(server->ask("finish"), "ok");
  ASSERT_TRUE(eventually([&] { return process_of(training->pid())["agent"] == true; }));
  EXPECT_FALSE(is_traced(training->pid()));
  EXPECT_TRUE(runs(*training));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "self-debug");
  EXPECT_TRUE(process_of(training->pid())["not_better"].empty());
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
}

// As the end of a debugger does whose ENABLE was refused. Before Linux 6.12.107 anybody may.
TEST_F(GpuOneDebugger, IsTheAgentAgainWhenSomebodyElseHasEndedItsSession) {
  const VirtualGpu gpu = VirtualGpu::given();
  const auto kfd = mechanism::open_kfd();
  ASSERT_TRUE(kfd);
  start_daemon();
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(server->ask("launch"), "ok");
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
    ASSERT_EQ(kfd::debug_disable({kfd->get()}, training->pid()), 0);
    EXPECT_TRUE(eventually([&] { return gpu.has_stopped_queues(); }));
    EXPECT_TRUE(has_state(training->pid(), "stopped"));
    EXPECT_EQ(job_of(training->pid())["mechanism"], "self-debug");
    EXPECT_TRUE(process_of(training->pid())["not_better"].empty());
  }
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(server->ask("finish"), "ok");
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuOneDebugger, IsTheDaemonWhereTheConfigurationSaysSo) {
  start_daemon("mechanisms = [\"debugger\"]\n");
  const auto training = offline(), server = online();
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return process_of(training->pid())["agent"] == true; }));
  ASSERT_TRUE(eventually([&] { return is_traced(training->pid()); }));
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_EQ(job_of(training->pid())["mechanism"], "debugger");
  EXPECT_TRUE(process_of(training->pid())["not_better"].empty());
  EXPECT_TRUE(stands_still(*training));
}

}  // namespace
}  // namespace gp::daemon
