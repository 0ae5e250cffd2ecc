// The two workloads on a virtual GPU: their results do not depend on how they are launched.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/server_support.h"

namespace gp::demo {
namespace {

using nlohmann::json;
using vgpu::server::Child;
using vgpu::server::Outcome;
using vgpu::server::Words;

class Workloads : public vgpu::server::ServerTest {
 protected:
  static Words workload(const std::string& name, const Words& arguments) {
    Words words = {vgpu(), "run", "--", GPREEMPT_EXAMPLES_DIR "/" + name};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return words;
  }
  Outcome trainer(Words arguments) {
    arguments.insert(arguments.begin(), {"--batch", "64", "--inputs", "48", "--hidden", "80"});
    return vgpu::server::run(workload("trainer", arguments));
  }
  static std::string last_line(const Outcome& outcome) {
    const std::size_t end = outcome.out.find_last_not_of('\n');
    return outcome.out.substr(outcome.out.rfind('\n', end) + 1);
  }
  std::string file() const { return devices() + ".json"; }
  void TearDown() override {
    std::filesystem::remove(file());
    ServerTest::TearDown();
  }
};

TEST_F(Workloads, TheTrainersResultIsTheSameHoweverItIsLaunched) {
  const Outcome plain = trainer({"6"});
  ASSERT_EQ(plain.status, 0) << plain.err;
  ASSERT_EQ(plain.out.find("steps 6 checksum "), plain.out.rfind("steps "));
  for (const Words& variant : {Words{"6", "--kernels", "1000"}, Words{"6", "--graph"},
                               Words{"6", "--report-every", "1"}}) {
    const Outcome outcome = trainer(variant);
    EXPECT_EQ(outcome.status, 0) << outcome.err;
    EXPECT_EQ(last_line(outcome), last_line(plain)) << testing::PrintToString(variant);
  }
}

TEST_F(Workloads, ATrainerThatStartsOverRepeatsItself) {
  const Outcome outcome =
      trainer({"6", "--start-over", "2", "--report-every", "1", "--json", file()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json trail = json::parse(std::ifstream(file())).at("trail");
  ASSERT_EQ(trail.size(), 6u);
  EXPECT_NE(trail[0].at("checksum"), trail[1].at("checksum"));
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(trail[i].at("step"), i % 2 + 1);
    EXPECT_EQ(trail[i].at("checksum"), trail[i % 2].at("checksum"));
  }
}

TEST_F(Workloads, TheTrainerLearns) {
  const Outcome outcome = trainer({"40", "--report-every", "20", "--json", file()});
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json trail = json::parse(std::ifstream(file())).at("trail");
  ASSERT_EQ(trail.size(), 2u);
  EXPECT_LT(trail[1].at("loss"), trail[0].at("loss"));
  EXPECT_NE(trail[1].at("checksum"), trail[0].at("checksum"));
}

TEST_F(Workloads, ATrainerThatIsAskedToEndLeavesItsResults) {
  // Not through `vgpu run`: the signal is for the trainer alone.
  ASSERT_EQ(start("lab").status, 0);
  Child child({vgpu(), "exec", "lab", "--", GPREEMPT_EXAMPLES_DIR "/trainer", "--for", "1000",
               "--batch", "64", "--inputs", "48", "--report-every", "1", "--json", file()});
  ASSERT_NE(child.read_until("step 2 ").find("step 2 "), std::string::npos);
  child.signal(SIGTERM);
  EXPECT_EQ(child.wait().status, 0);
  EXPECT_GE(json::parse(std::ifstream(file())).at("steps"), 2);
  EXPECT_EQ(vgpu({"stop", "lab"}).status, 0);
}

TEST_F(Workloads, TheServersAnswersAreRightHoweverTheyAreMade) {
  for (const Words& variant :
       {Words{}, Words{"--batch", "33"}, Words{"--layers", "20", "--kernels", "9"},
        Words{"--layers", "20", "--graph"}, Words{"--arrivals", "bursts", "--burst", "3"}}) {
    Words words = {"6", "1"};
    words.insert(words.end(), variant.begin(), variant.end());
    const Outcome outcome = vgpu::server::run(workload("server", words));
    EXPECT_EQ(outcome.status, 0) << testing::PrintToString(variant) << outcome.err;
    EXPECT_NE(last_line(outcome).find("requests 6 "), std::string::npos) << outcome.out;
  }
}

TEST_F(Workloads, TheServersFileHasARequestPerLineOfATrace) {
  const std::string trace = devices() + ".trace";
  std::ofstream(trace) << "0\n3.5\n7\n";
  const Outcome outcome =
      vgpu::server::run(workload("server", {"--trace", trace, "--json", file()}));
  std::filesystem::remove(trace);
  ASSERT_EQ(outcome.status, 0) << outcome.err;
  const json requests = json::parse(std::ifstream(file())).at("requests");
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[1].at("arrival_us"), 3500);
  EXPECT_GT(requests[1].at("latency_us"), 0);
}

TEST_F(Workloads, WhatTheyDoNotUnderstandIsRefused) {
  for (const Words& words :
       {Words{"trainer", "--fast"}, Words{"trainer", "-1"}, Words{"trainer", "--batch", "3"},
        Words{"trainer", "--json"}, Words{"server", "--arrivals", "never"}, Words{"server", "x"}}) {
    Words all = words;
    all[0] = GPREEMPT_EXAMPLES_DIR "/" + words[0];
    const Outcome outcome = vgpu::server::run(all);
    EXPECT_EQ(outcome.status, 2) << testing::PrintToString(words);
    EXPECT_NE(outcome.err.find("usage: "), std::string::npos) << outcome.err;
  }
}

}  // namespace
}  // namespace gp::demo
