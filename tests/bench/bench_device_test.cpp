// `gpreempt bench` as a user runs it, on a virtual GPU of its own.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/server_support.h"
#include "support/temporary_directory.h"

namespace gp::bench {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using vgpu::server::Outcome;
using vgpu::server::Words;

class Bench : public testing::Test {
 protected:
  void SetUp() override { ::setenv("XDG_RUNTIME_DIR", home_.c_str(), 1); }
  void TearDown() override { ::unsetenv("XDG_RUNTIME_DIR"); }

  Outcome bench(const Words& words) const {
    Words all = {GPREEMPT_BIN_DIR "/gpreempt", "bench"};
    all.insert(all.end(), words.begin(), words.end());
    return vgpu::server::run(all);
  }
  // Runs one scenario; what it measured.
  json measure(const std::string& scenario) const {
    const std::string file = home_ + "/criteria.json";
    const Outcome outcome =
        bench({scenario, "--duration", "1s", "--output", home_ + "/results", "--json", file});
    EXPECT_TRUE(outcome.status == 0 || outcome.status == 1) << outcome.err;  // 1: too slow today
    EXPECT_TRUE(fs::exists(home_ + "/results/report.html"));
    return json::parse(std::ifstream(file));
  }
  // The criteria that do not depend on how fast this machine is.
  static void expect_passed(const json& results, const std::string& what) {
    for (const json& each : results["criteria"]) {
      if (each["what"] == what) {
        EXPECT_TRUE(each["passed"]) << each;
        return;
      }
    }
    ADD_FAILURE() << "no criterion '" << what << "' in " << results;
  }

  const TemporaryDirectory temporary_;
  const std::string home_ = temporary_.path();
};

TEST_F(Bench, ListsItsScenarios) {
  const Outcome outcome = bench({"--list"});
  EXPECT_EQ(outcome.status, 0);
  for (const char* name :
       {"basic", "beside", "throughput", "frequent", "notice", "outside", "idle", "edge", "latency",
        "schemes", "tokens", "stress", "hostile", "stability"}) {
    EXPECT_NE(outcome.out.find(name), std::string::npos) << name;
  }
}

TEST_F(Bench, RefusesAScenarioThatThereIsNot) {
  const Outcome outcome = bench({"speed"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_NE(outcome.err.find("no scenario 'speed'"), std::string::npos) << outcome.err;
}

TEST_F(Bench, StabilityLosesNothing) {
  const json results = measure("stability");
  expect_passed(results, "offline results are those of an undisturbed run");
  expect_passed(results, "stops that failed");
  expect_passed(results, "threads the daemon has gained");
}

// How fast others are served depends on this machine; that they are, does not.
TEST_F(Bench, OthersAreServedUnderEveryAttack) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "attackers are processes of another user: only root has those";
  }
  const json results = measure("hostile");
  EXPECT_EQ(results["criteria"].size(), 17U) << "one quiet, two of each of eight attacks";
  for (const json& each : results["criteria"]) {
    EXPECT_TRUE(each["value"].is_number()) << each;
  }
}

TEST_F(Bench, EdgesAreRefusedInWordsAndDoNoHarm) {
  const json results = measure("edge");
  expect_passed(results, "a process without queues is refused in words");
  expect_passed(results, "stopping what is stopped does no harm");
  expect_passed(results, "starting what runs does no harm");
  expect_passed(results, "ten queues are stopped as one");
}

TEST_F(Bench, EverySchemeStopsTheJobAndOneCallIsOneUnmap) {
  const json results = measure("schemes");
  std::vector<std::string> names;
  for (const json& scheme : results["schemes"]) {
    names.push_back(scheme["mechanism"]);
    EXPECT_EQ(scheme["note"], "") << scheme;
    EXPECT_GT(scheme["online_p50_ms"], 0) << scheme;
    EXPECT_GT(scheme["low_over_high"], 0) << scheme;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"none", "gate", "criu", "update-queue", "debugger",
                                             "self-debug", "kernel"}));
  expect_passed(results, "unmaps to stop 10 queues of 5 processes by one call");
  const json& batching = results["batching"];
  ASSERT_EQ(batching["ways"].size(), 5u) << batching;
  for (const json& way : batching["ways"]) {  // whatever the mechanism: as many unmaps as calls
    EXPECT_EQ(way["stop_unmaps"], way["calls"]) << way;
  }
  const json& reservation = results["reservation"];
  ASSERT_EQ(reservation["runs"].size(), 2u) << reservation;
  EXPECT_GT(reservation["queues"], reservation["slots"]) << reservation;
  EXPECT_EQ(reservation["runs"][1]["reserved_slots"], 2) << reservation;
  for (const json& tier : results["tiers"]) {
    EXPECT_TRUE(tier["emulated"]) << tier;
  }
}

TEST_F(Bench, ALanguageModelWithoutAServerIsAFailureThatNamesThePackage) {
  const Outcome outcome =
      bench({"llm", "--llama-server", home_ + "/missing", "--output", home_ + "/results"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_NE(outcome.out.find("libggml0-backend-hip"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace gp::bench
