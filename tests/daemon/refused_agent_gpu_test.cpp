// A program whose runtime the agent does not know: it runs, and is stopped from outside.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

constexpr char kAgent[] = GPREEMPT_LIB_DIR "/libgpreempt_agent.so";
constexpr char kUnknownTables[] = GPREEMPT_LIB_DIR "/libunknown_tables_tool.so";

class GpuRefusedAgent : public DaemonTest {
 protected:
  std::string error_file() const { return directory() + "/puppet"; }
  // tests/agent/unknown_tables_tool.cpp makes the tables those of a runtime that does not exist.
  std::unique_ptr<Program> training() {
    return training({{"HSA_TOOLS_LIB", std::string(kUnknownTables) + " " + kAgent}});
  }
  std::unique_ptr<Program> training(Environment environment) {
    environment["GPREEMPT_SOCKET"] = socket();
    environment["GPREEMPT_CLASS"] = "offline";
    auto program = std::make_unique<Program>(Words{GPREEMPT_HIP_DIR "/agent_puppet"}, environment,
                                             error_file());
    EXPECT_EQ(program->line(), "ready");
    return program;
  }
  nlohmann::json refusal(const Program& program) {
    const auto job = job_of(program.pid());
    return job.contains("processes") ? job["processes"][0]["agent_refused"] : nlohmann::json();
  }
  std::string doctor_of(const Program& program) const {
    Program doctor(
        {GPREEMPT_BIN_DIR "/gpreempt", "doctor", "--json", "--pid", std::to_string(program.pid())},
        {{"GPREEMPT_SOCKET", socket()}});
    std::string said;
    for (std::string line = doctor.line(); !line.empty(); line = doctor.line()) {
      said += line + "\n";
    }
    return said;
  }
  std::string errors() const {
    std::ifstream in(error_file());
    return {std::istreambuf_iterator<char>(in), {}};
  }
};

TEST_F(GpuRefusedAgent, IsToldAndItsProcessIsStoppedByTheDebugger) {
  start_daemon();
  const auto offline = training();
  const auto server = online();
  ASSERT_EQ(offline->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return refusal(*offline).is_string(); }));
  EXPECT_NE(refusal(*offline).get<std::string>().find("version that is not known (99,"),
            std::string::npos)
      << refusal(*offline);
  EXPECT_NE(log().find("agent refused: ROCr's tables"), std::string::npos);
  EXPECT_NE(errors().find("gpreempt: agent refused: ROCr's tables"), std::string::npos) << errors();
  EXPECT_EQ(errors().find("agent refused"), errors().rfind("agent refused")) << "said once";

  ASSERT_EQ(server->ask("launch"), "ok");
  ASSERT_TRUE(has_state(offline->pid(), "stopped"));
  EXPECT_EQ(job_of(offline->pid())["mechanism"], "debugger");
  EXPECT_TRUE(stands_still(*offline));
  ASSERT_EQ(server->ask("finish"), "ok");
  ASSERT_TRUE(has_state(offline->pid(), "running"));
  EXPECT_TRUE(runs(*offline));
}

TEST_F(GpuRefusedAgent, IsExplainedByTheDoctor) {
  start_daemon();
  const auto offline = training();
  ASSERT_EQ(offline->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return refusal(*offline).is_string(); }));
  const std::string said = doctor_of(*offline);
  EXPECT_NE(said.find("\"agent refused: ROCr's tables"), std::string::npos) << said;
}

TEST_F(GpuRefusedAgent, ThatLooksForAnotherSocketIsExplainedByTheDoctor) {
  start_daemon();
  Program offline({GPREEMPT_HIP_DIR "/agent_puppet"},
                  {{"HSA_TOOLS_LIB", kAgent}, {"GPREEMPT_SOCKET", directory() + "/nobody"}},
                  error_file());
  ASSERT_EQ(offline.line(), "ready");
  ASSERT_EQ(offline.ask("launch"), "ok");
  EXPECT_NE(doctor_of(offline).find("has not reached the daemon"), std::string::npos)
      << doctor_of(offline);
  stop_daemon();
  EXPECT_NE(doctor_of(offline).find("no daemon answers"), std::string::npos) << doctor_of(offline);
  EXPECT_EQ(offline.ask("finish"), "ok");
}

TEST_F(GpuRefusedAgent, CannotShareAPageAndSaysSo) {
  start_daemon();
  const std::string loaded = std::getenv("LD_PRELOAD");  // the virtual GPU's library
  const auto offline =
      training({{"HSA_TOOLS_LIB", kAgent},
                {"LD_PRELOAD", GPREEMPT_LIB_DIR "/libno_shared_page.so:" + loaded}});
  ASSERT_EQ(offline->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return refusal(*offline).is_string(); }));
  EXPECT_TRUE(refusal(*offline).get<std::string>().starts_with("no memory can be shared"))
      << refusal(*offline);
  EXPECT_TRUE(runs(*offline));
  EXPECT_EQ(offline->ask("finish"), "ok");
  EXPECT_NE(errors().find("agent refused: no memory"), std::string::npos) << errors();
}

TEST_F(GpuRefusedAgent, TellsTheNextDaemonToo) {
  start_daemon();
  const auto offline = training();
  ASSERT_EQ(offline->ask("launch"), "ok");
  ASSERT_TRUE(eventually([&] { return refusal(*offline).is_string(); }));
  stop_daemon();
  start_daemon();
  EXPECT_TRUE(eventually([&] { return refusal(*offline).is_string(); }));
}

}  // namespace
}  // namespace gp::daemon
