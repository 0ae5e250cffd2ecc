// `gpreempt class`: a process that runs gets another class, on its user's word.
#include <fstream>
#include <sstream>

#include "base/exit_code.h"
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuClassCommand : public DaemonTest {
 protected:
  int gpreempt_class(pid_t pid, const std::string& work_class) {
    const Words words = {GPREEMPT_BIN_DIR "/gpreempt",
                         "class",
                         std::to_string(pid),
                         work_class,
                         "--socket",
                         socket()};
    return Program(words, {}, error_file_).wait();
  }
  std::string error() const {
    std::ostringstream text;
    text << std::ifstream(error_file_).rdbuf();
    return text.str();
  }

  const std::string error_file_ = directory() + "/error";
};

TEST_F(GpuClassCommand, MakesARunningProgramOfflineAndNormalAgain) {
  start_daemon();
  const auto server = online();
  const auto training = puppet({{"HSA_TOOLS_LIB", GPREEMPT_LIB_DIR "/libgpreempt_agent.so"}});
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(training->pid())["class"] == "normal"; }));
  ASSERT_EQ(gpreempt_class(training->pid(), "offline"), exit_ok) << error();
  EXPECT_TRUE(has_state(training->pid(), "stopped"));
  EXPECT_TRUE(stands_still(*training));
  ASSERT_EQ(gpreempt_class(training->pid(), "normal"), exit_ok) << error();
  EXPECT_TRUE(has_state(training->pid(), "running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuClassCommand, SaysWhenARuleKeepsAProcessWhatItIs) {
  start_daemon(
      "[[classes.rule]]\ncommand = \"agent_puppet\"\nclass = \"offline\"\nenforce = true\n");
  const auto training = offline();
  ASSERT_EQ(training->ask("default"), "ok");
  ASSERT_TRUE(eventually([&] { return job_of(training->pid())["class"] == "offline"; }));
  EXPECT_EQ(gpreempt_class(training->pid(), "online"), exit_permission);
  EXPECT_NE(error().find("is of class offline all the same"), std::string::npos) << error();
}

TEST_F(GpuClassCommand, NamesAProcessWithoutQueues) {
  start_daemon();
  EXPECT_EQ(gpreempt_class(1, "offline"), exit_failed);
  EXPECT_NE(error().find("process 1 has no GPU queues"), std::string::npos) << error();
}

}  // namespace
}  // namespace gp::daemon
