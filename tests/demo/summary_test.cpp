// What the demo says of its phases.
#include "demo/summary.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "demo/phases.h"
#include "report/verdict.h"

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
      "others": null, "preemptions": 3, "checksum_ok": true, "rounds": []})");
  EXPECT_EQ(json["phases"][3], expected);
  EXPECT_TRUE(json["phases"][0]["offline_steps_per_s"].is_null());
  EXPECT_TRUE(json["phases"][0]["checksum_ok"].is_null());
  EXPECT_TRUE(json["phases"][1]["online_p99_ms"].is_null());
}

TEST(SummaryJson, HasTheNumbersOfEveryRound) {
  report::Results results;
  results.phases = {phase(kBothWith, {1, 3, 9})};
  results.phases[0].rounds = {{2, 5, 12.0, report::OtherPrograms{7, 10, 2, 4.0}}, {1, 5, {}}};
  const auto json = nlohmann::json::parse(summary_json(results));
  const auto expected = nlohmann::json::parse(R"([{"online_p50_ms": 1.0, "online_p99_ms": 3.0,
      "online_max_ms": 3.0, "requests": 2, "offline_steps_per_s": 12.0,
      "others": {"cpu_percent": 70.0, "cpus": 2, "waiting_percent": 40.0}}, {"online_p50_ms": 9.0,
      "online_p99_ms": 9.0, "online_max_ms": 9.0, "requests": 1, "offline_steps_per_s": null,
      "others": null}])");
  EXPECT_EQ(json["phases"][0]["rounds"], expected);
}

TEST(Criteria, AreRatiosWithinOneRun) {
  const auto criteria = criteria_of(four_phases());
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_DOUBLE_EQ(*criteria[0].value, 1.5);  // p99 with against alone
  EXPECT_DOUBLE_EQ(*criteria[1].value, 80);   // steps kept
  EXPECT_DOUBLE_EQ(*criteria[2].value, 2);    // results intact
}

TEST(Criteria, TheNoiseIsHowFarTheRoundsOfWhatRanAloneAreApart) {
  auto phases = four_phases();
  phases[0].online_latency_ms = {4, 4, 2, 2, 3};
  phases[0].rounds = {{2, 1, {}}, {2, 1, {}}, {1, 1, {}}};
  phases[1].rounds = {{0, 1, 10}, {0, 1, 8}, {0, 1, 9}};
  const auto criteria = criteria_of(phases);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_DOUBLE_EQ(*criteria[0].noise, 2);   // 4 over 2: a factor
  EXPECT_DOUBLE_EQ(*criteria[1].noise, 20);  // 8 of 10: percent
}

TEST(Criteria, OneRoundDoesNotTellTheNoise) {
  auto phases = four_phases();
  phases[0].rounds = {{3, 1, {}}};
  phases[1].rounds = {{0, 1, 10}};
  const auto criteria = criteria_of(phases);
  EXPECT_FALSE(criteria[0].noise);
  EXPECT_FALSE(criteria[1].noise);
}

TEST(Criteria, BesideABusyMachineTimesAreInconclusiveAndLostResultsAreNot) {
  auto phases = four_phases();
  phases[3].rounds = {{3, 1, 8}, {0, 1, 8, report::OtherPrograms{14, 10, 2, 5.0}}};
  phases[3].online_latency_ms = {300, 300, 300};
  phases[3].offline_steps_per_s = 1;
  phases[3].checksum_ok = false;
  const auto criteria = criteria_of(phases);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_EQ(verdict_of(criteria[0]), report::Verdict::inconclusive);
  EXPECT_EQ(verdict_of(criteria[1]), report::Verdict::inconclusive);
  EXPECT_EQ(verdict_of(criteria[2]), report::Verdict::missed);
  report::Results results;
  results.criteria = criteria;
  const auto json = nlohmann::json::parse(summary_json(results));
  EXPECT_EQ(json["criteria"][0]["verdict"], "inconclusive");
  EXPECT_EQ(json["criteria"][0]["others"]["cpu_percent"], 140);
}

TEST(Criteria, TheTextsOfALanguageModelAreOne) {
  auto phases = four_phases();
  for (const std::size_t with_model : {0, 2, 3}) {
    phases[with_model].tokens = report::Tokens{{5, 7}, {1, 2, 3}, true};
  }
  ASSERT_EQ(criteria_of(phases).size(), 4u);
  EXPECT_DOUBLE_EQ(*criteria_of(phases)[3].value, 2);
  phases[3].tokens->texts_equal = false;
  EXPECT_EQ(verdict_of(criteria_of(phases)[3]), report::Verdict::missed);
  phases[3].tokens->texts_equal.reset();
  EXPECT_EQ(verdict_of(criteria_of(phases)[3]), report::Verdict::missed) << "unknown is not equal";
}

TEST(SummaryJson, HasTheTokensOfALanguageModel) {
  report::Results results;
  results.phases = {phase(kBothWith, {9, 9})};
  results.phases[0].tokens = report::Tokens{{5, 7}, {1, 2, 3}, true};
  const auto json = nlohmann::json::parse(summary_json(results))["phases"][0];
  EXPECT_EQ(json["first_token_ms"],
            nlohmann::json::parse(R"({"p50": 5.0, "p99": 7.0, "max": 7.0})"));
  EXPECT_EQ(json["next_token_ms"],
            nlohmann::json::parse(R"({"p50": 2.0, "p99": 3.0, "max": 3.0})"));
  EXPECT_EQ(json["texts_equal"], true);
}

TEST(Criteria, WhatWasNotMeasuredHasNoValue) {
  auto phases = four_phases();
  phases[3].online_latency_ms.clear();
  phases[3].checksum_ok.reset();
  const auto criteria = criteria_of(phases);
  ASSERT_EQ(criteria.size(), 3u);
  EXPECT_FALSE(criteria[0].value);
  EXPECT_DOUBLE_EQ(*criteria[2].value, 1) << "one of two is intact, the other is unknown";
}

}  // namespace
}  // namespace gp::demo
