// A program in C (tests/lib/scheduler_program.c) tells the daemon what it does.
#include <cerrno>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class GpuMarks : public DaemonTest {
 protected:
  void TearDown() override {
    program.reset();
    training.reset();
    DaemonTest::TearDown();
  }
  void start() {
    start_daemon();
    training = offline();
    ASSERT_EQ(training->ask("launch"), "ok");
    ASSERT_TRUE(runs(*training));
    start_program();
    // It has no agent: the daemon sees its queue from outside.
    ASSERT_TRUE(eventually([&] { return !job_of(program->pid())["state"].is_null(); }));
  }
  void start_program() {
    program = std::make_unique<Program>(Words{GPREEMPT_BIN_DIR "/scheduler_program"},
                                        Environment{{"GPREEMPT_SOCKET", socket()}});
    ASSERT_EQ(program->line(), "ready");
  }
  bool training_is(const std::string& state) { return has_state(training->pid(), state); }

  std::unique_ptr<Program> program, training;
};

TEST_F(GpuMarks, BeginStopsOfflineWorkAndEndStartsIt) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(program->ask("begin"), "0");
  EXPECT_TRUE(training_is("stopped"));
  EXPECT_TRUE(stands_still(*training));
  EXPECT_EQ(job_of(program->pid())["class"], "online");
  EXPECT_EQ(job_of(program->pid())["busy"], true);
  ASSERT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuMarks, BeginsNestAndEveryEndNeedsOne) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(program->ask("begin"), "0");
  ASSERT_EQ(program->ask("begin 5000000"), "0");
  ASSERT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("stopped"));
  ASSERT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("running"));
  EXPECT_EQ(program->ask("end"), std::to_string(-EINVAL));
  EXPECT_NE(program->ask("text").find("without gpreempt_online_begin"), std::string::npos);
}

TEST_F(GpuMarks, EndWithTheProcessThatMadeThem) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(program->ask("begin"), "0");
  ASSERT_TRUE(training_is("stopped"));
  program->signal(SIGKILL);
  EXPECT_TRUE(training_is("running"));
  EXPECT_TRUE(runs(*training));
}

TEST_F(GpuMarks, AreMadeAgainAfterTheDaemonWasReplaced) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(program->ask("begin"), "0");
  ASSERT_TRUE(training_is("stopped"));
  const pid_t before = daemon_pid();
  ::kill(before, SIGKILL);
  EXPECT_TRUE(runs(*training));
  ASSERT_TRUE(eventually([&] { return daemon_pid() != before; }));
  ASSERT_EQ(program->ask("begin"), "0");
  EXPECT_TRUE(training_is("stopped"));
  ASSERT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("stopped")) << "the mark from before the daemon's death is missing";
  ASSERT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("running"));
}

TEST_F(GpuMarks, ThatTheDaemonTookAlongEndWithoutError) {
  ASSERT_NO_FATAL_FAILURE(start());
  ASSERT_EQ(program->ask("begin"), "0");
  const pid_t before = daemon_pid();
  ::kill(before, SIGKILL);
  ASSERT_TRUE(eventually([&] { return daemon_pid() != before; }));
  EXPECT_EQ(program->ask("end"), "0");
  EXPECT_TRUE(training_is("running"));
}

TEST_F(GpuMarks, AJobHasTheNameClassAndPriorityItWasGiven) {
  ASSERT_NO_FATAL_FAILURE(start());
  EXPECT_EQ(program->ask("job inference"), "0");
  EXPECT_EQ(program->ask("class 3"), "0");
  EXPECT_EQ(program->ask("priority 12"), "0");
  const nlohmann::json job = job_of(program->pid());
  EXPECT_EQ(job["job"], "inference");
  EXPECT_EQ(job["class"], "online");
  EXPECT_EQ(job["priority"], 12);
  EXPECT_EQ(program->ask("class 4"), std::to_string(-EINVAL));
  EXPECT_EQ(program->ask("priority 16"), std::to_string(-EINVAL));
  EXPECT_EQ(program->ask("job " + std::string(64, 'x')), std::to_string(-ENAMETOOLONG));
}

TEST_F(GpuMarks, StatusIsAsLongAsItSaysAndCutWhereTheCallerHasNoRoom) {
  ASSERT_NO_FATAL_FAILURE(start());
  const std::string answer = program->ask("status");
  EXPECT_GT(std::stoul(answer), status().dump().size() / 2);
  EXPECT_EQ(answer.substr(answer.find(' ')), " {\"conne");
}

TEST_F(GpuMarks, WithoutADaemonAreRefusedAndTheProgramGoesOn) {
  start_program();
  EXPECT_EQ(program->ask("begin"), std::to_string(-ENOENT));
  EXPECT_EQ(program->ask("end"), std::to_string(-EINVAL));
  EXPECT_EQ(program->ask("job inference"), std::to_string(-ENOENT));
  EXPECT_EQ(program->ask("status"), std::to_string(-ENOENT) + " ");
}

}  // namespace
}  // namespace gp::daemon
