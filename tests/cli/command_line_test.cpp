// What a user sees of `gpreempt` on a machine without a GPU: usage, saved copies, exit codes.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/server_support.h"
#include "support/temporary_directory.h"

namespace gp::cli {
namespace {

using vgpu::server::Outcome;
using vgpu::server::Words;
namespace fs = std::filesystem;

Outcome gpreempt(Words words) {
  words.insert(words.begin(), std::string(GPREEMPT_BIN_DIR) + "/gpreempt");
  return vgpu::server::run(words);
}

class SavedCopy : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_RUNTIME_DIR", home_.c_str(), 1); }
  const TemporaryDirectory temporary_;
  const fs::path home_ = temporary_.path();
};

TEST_F(SavedCopy, OfARealServerShowsItsFiveQueues) {
  const fs::path saved = fs::path(GPREEMPT_SOURCE_DIR) / "../shared/fixtures/mi308x";
  if (!fs::exists(saved / "mqds_16.txt")) {
    GTEST_SKIP() << "no dumps of an MI308X here";
  }
  fs::copy(saved / "mqds_16.txt", home_ / "mqds");
  fs::copy(saved / "hqds_16.txt", home_ / "hqds");
  const Outcome outcome = gpreempt({"queues", "--json", "--debugfs", home_});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const auto json = nlohmann::json::parse(outcome.out);
  ASSERT_EQ(json["queues"].size(), 5u);
  for (const auto& queue : json["queues"]) {
    EXPECT_EQ(queue["gpu_id"], 0xf7bc);
    EXPECT_EQ(queue["type"], "compute");
    EXPECT_TRUE(queue["queue_id"].is_null());
    EXPECT_TRUE(queue["command"].is_null()) << "nothing of the running system is mixed in";
    EXPECT_EQ(queue["mapped"], true);
  }
}

TEST_F(SavedCopy, WithNothingInItIsAnErrorAndNotAnEmptyMachine) {
  const Outcome outcome = gpreempt({"queues", "--debugfs", home_});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_NE(outcome.err.find("gpreempt: "), std::string::npos);
}

TEST_F(SavedCopy, DamagedGivesAWarningAndNoQueues) {
  std::ofstream(home_ / "mqds") << "garbage\n\xff\xfe more\n";
  const Outcome outcome = gpreempt({"queues", "--debugfs", home_});
  EXPECT_EQ(outcome.status, 0);
  EXPECT_NE(outcome.out.find("No queues."), std::string::npos);
  EXPECT_NE(outcome.err.find("warning: "), std::string::npos);
}

TEST(Usage, WrongUsageIsExitCode2WithAHint) {
  const std::vector<Words> wrong = {
      {"frob"},
      {"--frob"},
      {"queues", "--frob"},
      {"queues", "--pid", "x"},
      {"queues", "--pid", "0"},
      {"queues", "--class", "best"},
      {"queues", "--exists", "12"},
      {"queues", "--exists", "12:1024"},
      {"queues", "--sysfs", "/does/not/exist"},
      {"queues", "--watch", "--debugfs", "/tmp"},
      {"suspend"},
      {"suspend", "--pid", "1"},
      {"suspend", "--pid", "1", "--for", "5"},
      {"suspend", "--pid", "1", "--for", "0s"},
      {"suspend", "--pid", "1", "--for", "2000min"},
      {"suspend", "--pid", "1", "--for", "1s", "--queue", "1024"},
      {"suspend", "--pid", "1", "--for", "1s", "--queue", "0", "--queue", "0"},
      {"suspend", "--pid", "1", "--for", "1s", "--mechanism", "magic"},
      {"suspend", "--pid", "1", "--for", "1s", "--grace", "0"},
      {"suspend", "--pid", "1", "--for", "1s", "--grace", "256"},
      {"resume", "--pid", "-3"},
      {"class"},
      {"class", "1"},
      {"class", "1", "best"},
      {"class", "1:0", "online"},
      {"help", "frob"},
  };
  for (const Words& words : wrong) {
    const Outcome outcome = gpreempt(words);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words) << outcome.err;
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << testing::PrintToString(words);
    EXPECT_EQ(outcome.out, "");
  }
  EXPECT_NE(gpreempt({"frob"}).err.find("unknown command 'frob'"), std::string::npos);
}

TEST(Usage, EveryCommandHasHelpWithExamples) {
  for (const char* command : {"queues", "suspend", "resume", "doctor", "class"}) {
    const Outcome outcome = gpreempt({command, "--help"});
    EXPECT_EQ(outcome.status, 0);
    EXPECT_NE(outcome.out.find("Examples:"), std::string::npos) << command;
    EXPECT_EQ(gpreempt({"help", command}).out, outcome.out);
  }
  EXPECT_EQ(gpreempt({"help"}).out, gpreempt({"--help"}).out);
  EXPECT_EQ(gpreempt({"version"}).out, gpreempt({"--version"}).out);
}

TEST(WithoutADevice, CommandsSaySoWithExitCode3) {
  if (fs::exists("/sys/class/kfd/kfd")) {
    GTEST_SKIP() << "this machine has one";
  }
  for (const Words& words : std::vector<Words>{{"queues"},
                                               {"queues", "--watch"},
                                               {"queues", "--exists", "1:0"},
                                               {"suspend", "--pid", "1", "--for", "1s"}}) {
    const Outcome outcome = gpreempt(words);
    EXPECT_EQ(outcome.status, 3) << testing::PrintToString(words);
    EXPECT_NE(outcome.err.find("hint: "), std::string::npos) << testing::PrintToString(words);
  }
  EXPECT_EQ(gpreempt({"doctor"}).status, 3);
  EXPECT_NE(gpreempt({"doctor"}).out.find("fix: "), std::string::npos);
  EXPECT_EQ(gpreempt({}).status, 0) << "bare gpreempt tells and does not fail";
}

}  // namespace
}  // namespace gp::cli
