// gpreempt run: the program gets the agent and who it is, and nothing else changes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "cli/tools_lib.h"
#include "server/server_support.h"

namespace gp::cli {
namespace {

using vgpu::server::Outcome;
using vgpu::server::Words;

class Run : public testing::Test {
 protected:
  void SetUp() override { ::setenv("GPREEMPT_SOCKET", "/nonexistent/gpreemptd.sock", 1); }
  void TearDown() override { ::unsetenv("GPREEMPT_SOCKET"); }
  Outcome run(Words words) {
    words.insert(words.begin(), {std::string(GPREEMPT_BIN_DIR) + "/gpreempt", "run"});
    return vgpu::server::run(words);
  }
};

TEST(ToolsLib, TheAgentComesLast) {
  EXPECT_EQ(with_tool("", "/a.so"), "/a.so");
  EXPECT_EQ(with_tool("/profiler.so", "/a.so"), "/profiler.so /a.so");
}

TEST(ToolsLib, TheAgentIsNamedOnce) {
  EXPECT_EQ(with_tool("/a.so /b.so", "/a.so"), "/a.so /b.so");
  EXPECT_EQ(with_tool("/x/a.so", "/a.so"), "/x/a.so /a.so");
}

TEST(ToolsLib, WhatSeparatesNamesIsEscaped) {
  EXPECT_EQ(with_tool("", R"(/my "dir"/a.so)"), R"(/my\ \"dir\"/a.so)");
}

TEST_F(Run, TheProgramIsToldWhoItIs) {
  const Outcome outcome =
      run({"--class", "offline", "--job", "j", "--tag", "t", "--priority", "3", "--", "sh", "-c",
           "echo $GPREEMPT_CLASS $GPREEMPT_JOB $AMD_QUEUE_TAG "
           "$GPREEMPT_PRIORITY; echo $HSA_TOOLS_LIB"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.out.substr(0, outcome.out.find('\n')), "offline j t 3");
  EXPECT_NE(outcome.out.find("/libgpreempt_agent.so\n"), std::string::npos) << outcome.out;
}

TEST_F(Run, OtherToolsStay) {
  ::setenv("HSA_TOOLS_LIB", "/profiler.so", 1);
  const Outcome outcome = run({"--class", "online", "--", "sh", "-c", "echo $HSA_TOOLS_LIB"});
  ::unsetenv("HSA_TOOLS_LIB");
  EXPECT_EQ(outcome.out.find("/profiler.so /"), 0u) << outcome.out;
}

TEST_F(Run, ItsStatusIsThePrograms) {
  EXPECT_EQ(run({"--class", "online", "--", "sh", "-c", "exit 42"}).status, 42);
}

TEST_F(Run, WithoutADaemonItWarnsAndGoesOn) {
  const Outcome outcome = run({"--class", "online", "--", "true"});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.err.find("no daemon is running"), std::string::npos);
}

TEST_F(Run, WhatCannotBeStartedIsSaid) {
  const Outcome outcome = run({"--class", "online", "--", "/nonexistent/program"});
  EXPECT_EQ(outcome.status, 127);
  EXPECT_NE(outcome.err.find("/nonexistent/program"), std::string::npos);
}

TEST_F(Run, BadOptionsAreRefused) {
  for (const Words& words :
       {Words{"--", "true"}, Words{"--class", "online"}, Words{"--class", "urgent", "--", "true"},
        Words{"--class", "online", "--priority", "16", "--", "true"},
        Words{"--class", "online", "--job", std::string(64, 'x'), "--", "true"}}) {
    EXPECT_EQ(run(words).status, 2);
  }
}

}  // namespace
}  // namespace gp::cli
