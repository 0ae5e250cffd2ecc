// The same agent in another release of ROCr: tests/rocm/run says in which. The program was built
// here; the root's dynamic linker runs it with the root's libraries.
#include <cstdlib>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class Release : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    const char* root = std::getenv("GPREEMPT_TEST_ROCM_ROOT");
    ASSERT_NE(root, nullptr) << "this is started by tests/rocm/run";
    root_ = root;
  }
  const std::string& root() const { return root_; }
  std::unique_ptr<Program> start(const std::string& work_class, const Environment& more = {}) {
    auto program = std::make_unique<Program>(
        Words{GPREEMPT_BIN_DIR "/gpreempt", "run", "--class", work_class, "--socket", socket(),
              "--", root_ + "/lib64/ld-linux-x86-64.so.2", "--inhibit-cache", "--library-path",
              root_ + "/usr/lib/x86_64-linux-gnu", GPREEMPT_RELEASE_PROGRAM},
        more);
    EXPECT_EQ(program->line(), "ready");
    return program;
  }
  nlohmann::json process(const Program& program) {
    const auto job = job_of(program.pid());
    return job.contains("processes") ? job["processes"][0] : nlohmann::json::object();
  }
  bool has_agent(const Program& program) {
    return eventually([&] { return process(program).value("agent", false); });
  }

 private:
  std::string root_;
};

TEST_F(Release, IsWhatTheProgramRunsOn) {
  start_daemon();
  const auto program = start("offline");
  EXPECT_TRUE(program->ask("library").starts_with(root() + "/")) << program->ask("library");
}

TEST_F(Release, HasAnAgentThatStopsAndStartsWorkWithoutAChange) {
  start_daemon();
  const auto training = start("offline"), server = start("online");
  ASSERT_TRUE(has_agent(*training)) << process(*training);
  ASSERT_TRUE(has_agent(*server)) << process(*server);
  ASSERT_EQ(training->ask("launch"), "ok");
  ASSERT_TRUE(runs(*training));
  for (int round = 0; round < 3; ++round) {
    SCOPED_TRACE(round);
    ASSERT_EQ(server->ask("launch"), "ok");
    ASSERT_TRUE(has_state(training->pid(), "stopped"));
    EXPECT_EQ(process(*training)["mechanism"], "self-debug");
    EXPECT_TRUE(stands_still(*training));
    ASSERT_EQ(server->ask("finish"), "exact");
    ASSERT_TRUE(has_state(training->pid(), "running"));
    ASSERT_TRUE(runs(*training));
  }
  EXPECT_EQ(training->ask("finish"), "exact");
}

TEST_F(Release, RunsWorkThroughTheGateWithoutAChange) {
  start_daemon();
  const auto training = start("offline", {{"GPREEMPT_GATE", "1"}});
  ASSERT_TRUE(has_agent(*training)) << process(*training);
  ASSERT_EQ(training->ask("launch"), "ok");
  EXPECT_TRUE(runs(*training));
  EXPECT_EQ(training->ask("finish"), "exact");
}

}  // namespace
}  // namespace gp::daemon
