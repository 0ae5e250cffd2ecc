// results.json: what is written is read back, and what is damaged is named.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cerrno>
#include <cmath>
#include <nlohmann/json.hpp>

#include "report/report.h"
#include "report/results_support.h"

namespace gp::report {
namespace {

using nlohmann::json;

RC_GTEST_PROP(ResultsJson, AllThatIsWrittenIsReadBack, ()) {
  const std::string text = *to_json(any_results());
  const Result<Results> read = from_json(text);
  RC_ASSERT(static_cast<bool>(read));
  // Every field is in the text, so equal texts mean equal results.
  RC_ASSERT(*to_json(*read) == text);
}

RC_GTEST_PROP(ResultsJson, ACutFileIsAnErrorAndNoHalfResult, ()) {
  const std::string text = *to_json(any_results());
  const auto length = *rc::gen::inRange<std::size_t>(0, text.find_last_of('}'));
  RC_ASSERT(!from_json(text.substr(0, length)));
}

json small() {
  Results results;
  results.phases.push_back({"both-with", {1.5, 2.5}, {0, 100}, 3.0, 7, true, 0.2, {}});
  results.phases[0].timeline.push_back({"online", "running", 10, 20});
  results.criteria.push_back({"basic", "online p99", "ms", 10, false, 2.5, std::nullopt, ""});
  results.schemes.emplace_back();
  return json::parse(*to_json(results));
}

std::string complaint(const json& damaged) {
  const Result<Results> read = from_json(damaged.dump());
  return read ? "none" : read.error().what;
}

TEST(ResultsJson, WhatIsNotKnownIsNullAndStaysUnknown) {
  json known = small();
  known["phases"][0]["offline_steps_per_s"] = nullptr;
  const Result<Results> read = from_json(known.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->phases[0].offline_steps_per_s, std::nullopt);
  EXPECT_EQ(read->phases[0].checksum_ok, true);
  EXPECT_EQ(read->criteria[0].noise, std::nullopt);
}

TEST(ResultsJson, AMissingFieldIsNamedWithItsPlace) {
  json damaged = small();
  damaged["phases"][0].erase("duration_s");
  EXPECT_EQ(complaint(damaged), "phases[0].duration_s is missing");
  damaged = small();
  damaged.erase("environment");
  EXPECT_EQ(complaint(damaged), "environment is missing");
}

TEST(ResultsJson, AFileOfAnOlderVersionLacksWhatThatDidNotMeasure) {
  json older = small();
  older.erase("batching");
  older.erase("reservation");
  older.erase("lingers");
  older["schemes"][0].erase("low_over_high");
  older["phases"][0].erase("rounds");
  const Result<Results> read = from_json(older.dump());
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->batching);
  EXPECT_EQ(read->schemes[0].low_over_high, std::nullopt);
}

TEST(ResultsJson, AFieldOfTheWrongKindIsNamedWithItsPlace) {
  json damaged = small();
  damaged["phases"][0]["online_latency_ms"][1] = "2.5";
  EXPECT_EQ(complaint(damaged), "phases[0].online_latency_ms[1] is not a number");
  damaged = small();
  damaged["phases"] = json::object();
  EXPECT_EQ(complaint(damaged), "phases is not a list");
  damaged = small();
  damaged["criteria"][0] = 5;
  EXPECT_EQ(complaint(damaged), "criteria[0] is not an object");
  damaged = small();
  damaged["environment"]["virtual_gpu"] = 1;
  EXPECT_EQ(complaint(damaged), "environment.virtual_gpu is not true or false");
  damaged = small();
  damaged["schemes"][0]["mechanism"] = nullptr;
  EXPECT_EQ(complaint(damaged), "schemes[0].mechanism is not a text");
}

TEST(ResultsJson, ACountOutOfRangeIsRefusedNotWrapped) {
  json damaged = small();
  damaged["phases"][0]["preemptions"] = -1;
  EXPECT_EQ(complaint(damaged), "phases[0].preemptions is not a whole number in range");
  damaged = small();
  damaged["environment"]["cores"] = 4294967296;
  EXPECT_EQ(complaint(damaged), "environment.cores is not a whole number in range");
  damaged = small();
  damaged["schemes"][0]["level"] = 2.5;
  EXPECT_EQ(complaint(damaged), "schemes[0].level is not a whole number in range");
}

TEST(ResultsJson, EveryLatencyHasItsArrivalAndNoSpanEndsBeforeItStarts) {
  json damaged = small();
  damaged["phases"][0]["online_arrival_ms"].push_back(200);
  EXPECT_EQ(complaint(damaged), "phases[0].online_arrival_ms is not as long as online_latency_ms");
  damaged = small();
  damaged["phases"][0]["timeline"][0]["end_us"] = 9;
  EXPECT_EQ(complaint(damaged), "phases[0].timeline[0] ends before it starts");
}

TEST(ResultsJson, EveryRequestIsOfARoundWhereThereAreRounds) {
  json known = small();
  known["phases"][0]["rounds"] = json::parse(
      R"([{"requests": 1, "duration_s": 0.1, "offline_steps_per_s": null},
          {"requests": 1, "duration_s": 0.1, "offline_steps_per_s": 3.0}])");
  const Result<Results> read = from_json(known.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->phases[0].rounds[1].offline_steps_per_s, 3.0);
  known["phases"][0]["rounds"].erase(1);
  EXPECT_EQ(complaint(known), "phases[0].rounds do not have all requests");
}

TEST(ResultsJson, OtherVersionsAndOtherFilesAreTold) {
  json other = small();
  other["schema_version"] = 2;
  EXPECT_EQ(complaint(other), "schema_version is 2, at most 1 is known here");
  other.erase("schema_version");
  EXPECT_EQ(complaint(other), "schema_version is not 1");
  EXPECT_EQ(complaint(json::array()), "schema_version is not 1");
  EXPECT_TRUE(from_json("hello").error().what.starts_with("no JSON: "));
}

TEST(ResultsJson, ANumberThatIsNotFiniteIsRefusedWhenWritten) {
  Results results;
  results.phases.push_back({"online-alone", {1.0, NAN}, {0, 1}, {}, 0, {}, 1, {}});
  const Result<std::string> text = to_json(results);
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().what, "phases[0].online_latency_ms[1] is not a finite number");
}

TEST(ResultsJson, BytesThatAreNoUtf8DoNotStopTheWriter) {
  Results results;
  results.environment.command = "gpreempt demo \xff";
  const Result<std::string> text = to_json(results);
  ASSERT_TRUE(text);
  EXPECT_EQ(from_json(*text)->environment.command, "gpreempt demo \xEF\xBF\xBD");
}

}  // namespace
}  // namespace gp::report
