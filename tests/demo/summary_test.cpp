// What the demo says of its phases.
#include "demo/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "demo/phases.h"

namespace gp::demo {
namespace {

report::Phase phase(const char* name, std::vector<double> latencies) {
  report::Phase phase;
  phase.name = name;
  phase.online_latency_ms = std::move(latencies);
  return phase;
}

// As the demo leaves them: alone 2 ms, without 40 ms, with 3 ms.
std::vector<report::Phase> four_phases() {
  std::vector<report::Phase> phases = {phase(kOnlineAlone, {2, 2, 1}), phase(kOfflineAlone, {}),
                                       phase(kBothWithout, {40, 30, 20}),
                                       phase(kBothWith, {3, 2, 2})};
  phases[1].offline_steps_per_s = 10;
  phases[2].offline_steps_per_s = 9;
  phases[3].offline_steps_per_s = 8;
  for (std::size_t i = 1; i < phases.size(); ++i) {
    phases[i].checksum_ok = true;
  }
  phases[3].preemptions = 3;
  return phases;
}

// Twice as fast in its second half.
const Training kTraining = {0,
                            {{1, 0, "a"},
                             {2, 1'000'000, "b"},
                             {3, 2'000'000, "c"},
                             {4, 2'500'000, "d"},
                             {5, 3'000'000, "e"},
                             {6, 3'500'000, "f"},
                             {7, 4'000'000, "g"}}};

TEST(Quantile, IsAValueThatWasMeasured) {
  std::vector<double> values;
  for (int i = 100; i >= 1; --i) {
    values.push_back(i);
  }
  EXPECT_EQ(quantile(values, 0.5), 50);
  EXPECT_EQ(quantile(values, 0.99), 99);
  EXPECT_EQ(quantile(values, 1), 100);
  EXPECT_EQ(quantile(values, 0), 1);
  EXPECT_EQ(quantile({7}, 0.99), 7);
}

TEST(Quantile, OfNothingIsUnknown) { EXPECT_FALSE(quantile({}, 0.5)); }

TEST(SummaryJson, HasAllPhasesWithUnknownAsNull) {
  report::Results results;
  results.environment.virtual_gpu = true;
  results.environment.device = "virtual GPU";
  results.phases = four_phases();
  const auto json = nlohmann::json::parse(summary_json(results));
  EXPECT_EQ(json["schema_version"], 1);
  EXPECT_EQ(json["virtual_gpu"], true);
  ASSERT_EQ(json["phases"].size(), 4u);
  const auto expected = nlohmann::json::parse(R"({"name": "both-with", "online_p50_ms": 2.0,
      "online_p99_ms": 3.0, "online_max_ms": 3.0, "requests": 3, "offline_steps_per_s": 8.0,
      "preemptions": 3, "checksum_ok": true})");
  EXPECT_EQ(json["phases"][3], expected);
  EXPECT_TRUE(json["phases"][0]["offline_steps_per_s"].is_null());
  EXPECT_TRUE(json["phases"][0]["checksum_ok"].is_null());
  EXPECT_TRUE(json["phases"][1]["online_p99_ms"].is_null());
}

TEST(Criteria, AreRatiosWithinOneRun) {
  const auto criteria = criteria_of(four_phases(), kTraining);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_DOUBLE_EQ(*criteria[0].value, 1.5);  // p99 with against alone
  EXPECT_DOUBLE_EQ(*criteria[1].value, 80);   // steps kept
  EXPECT_DOUBLE_EQ(*criteria[2].value, 2);    // results intact
}

TEST(Criteria, TheNoiseIsWhatTwoHalvesOfOneRunGive) {
  auto phases = four_phases();
  phases[0].online_latency_ms = {4, 4, 2, 2};
  const auto criteria = criteria_of(phases, kTraining);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_DOUBLE_EQ(*criteria[0].noise, 2);
  EXPECT_DOUBLE_EQ(*criteria[1].noise, 50);
}

TEST(Criteria, WhatWasNotMeasuredHasNoValue) {
  auto phases = four_phases();
  phases[3].online_latency_ms.clear();
  phases[3].checksum_ok.reset();
  const auto criteria = criteria_of(phases, kTraining);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_FALSE(criteria[0].value);
  EXPECT_DOUBLE_EQ(*criteria[2].value, 1) << "one of two is intact, the other is unknown";
}

}  // namespace
}  // namespace gp::demo
