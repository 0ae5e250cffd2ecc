// The same agent in another release of ROCr: tests/rocm/run says in which. The program was built
// here; the root's dynamic linker runs it with the root's libraries. With a second root in
// GPREEMPT_TEST_ROCM_ONLINE_ROOT online work runs on that release, beside offline work on the
// first.
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
    const char* online_root = std::getenv("GPREEMPT_TEST_ROCM_ONLINE_ROOT");
    roots_ = {{"offline", root}, {"online", online_root != nullptr ? online_root : root}};
  }
  const std::string& root(const std::string& work_class) const { return roots_.at(work_class); }
  std::unique_ptr<Program> start(const std::string& work_class, const Environment& more = {}) {
    auto program = std::make_unique<Program>(
        Words{GPREEMPT_BIN_DIR "/gpreempt", "run", "--class", work_class, "--socket", socket(),
              "--", root(work_class) + "/lib64/ld-linux-x86-64.so.2", "--inhibit-cache",
              "--library-path", root(work_class) + "/usr/lib/x86_64-linux-gnu",
              GPREEMPT_RELEASE_PROGRAM},
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
  // Online work three times; offline work must not notice.
  void stop_and_start(const std::string& mechanism) {
    const auto training = start("offline"), server = start("online");
    ASSERT_TRUE(has_agent(*training)) << process(*training);
    ASSERT_TRUE(has_agent(*server)) << process(*server);
    ASSERT_EQ(training->ask("launch"), "ok");
    ASSERT_TRUE(runs(*training));
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(round);
      ASSERT_EQ(server->ask("launch"), "ok");
      ASSERT_TRUE(has_state(training->pid(), "stopped"));
      EXPECT_EQ(process(*training)["mechanism"], mechanism);
      EXPECT_TRUE(stands_still(*training));
      ASSERT_EQ(server->ask("finish"), "exact");
      ASSERT_TRUE(has_state(training->pid(), "running"));
      ASSERT_TRUE(runs(*training));
    }
    EXPECT_EQ(training->ask("finish"), "exact");
  }

 private:
  std::map<std::string, std::string> roots_;  // by class
};

TEST_F(Release, IsWhatTheProgramRunsOn) {
  start_daemon();
  for (const char* work_class : {"offline", "online"}) {
    const auto program = start(work_class);
    EXPECT_TRUE(program->ask("library").starts_with(root(work_class) + "/"))
        << program->ask("library");
  }
}

TEST_F(Release, HasAnAgentThatStopsAndStartsWorkWithoutAChange) {
  start_daemon();
  stop_and_start("self-debug");
}

class Mechanisms : public Release, public testing::WithParamInterface<const char*> {};

TEST_P(Mechanisms, StopAndStartWorkWithoutAChange) {
  start_daemon("mechanisms = [\"" + std::string(GetParam()) + "\"]\n");
  stop_and_start(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Release, Mechanisms, testing::Values("debugger", "update-queue", "criu"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

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
