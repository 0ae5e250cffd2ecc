// What limits it and what to try next: each rule speaks when it should, and only then.
#include "report/page.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "report/results_support.h"

namespace gp::report {
namespace {

bool says(const Results& results, const std::string& part) {
  const std::vector<Advice> advice = advice_for(results);
  return std::any_of(advice.begin(), advice.end(), [&](const Advice& each) {
    return each.finding.find(part) != std::string::npos ||
           each.remedy.find(part) != std::string::npos;
  });
}

Phase& phase(Results& results, const std::string& name) {
  return *std::find_if(results.phases.begin(), results.phases.end(),
                       [&](const Phase& each) { return each.name == name; });
}

TEST(Advice, OfNothingIsNothing) { EXPECT_TRUE(advice_for({}).empty()); }

TEST(Advice, DamagedDataComeFirst) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "differs"));
  phase(results, kBothWith).checksum_ok = false;
  EXPECT_NE(advice_for(results).front().finding.find("differs"), std::string::npos);
}

TEST(Advice, OnlineThatStillWaitsIsToldWithItsFactor) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "still"));
  phase(results, kOnlineAlone).online_latency_ms = {1};
  phase(results, kBothWith).online_latency_ms = {3};
  EXPECT_TRUE(says(results, "still 3.0x what it is alone"));
}

TEST(Advice, OfflineThatWasNeverStoppedIsTold) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "never stopped"));
  phase(results, kBothWith).preemptions = 0;
  EXPECT_TRUE(says(results, "never stopped"));
}

TEST(Advice, NamesTheFastestWayToStop) {
  Results results = demo_results();
  EXPECT_TRUE(says(results, "self-debug stops fastest here: 840 µs"));
  results.schemes.resize(1);
  EXPECT_FALSE(says(results, "fastest"));
}

TEST(Advice, ManyPreemptionsSuggestLingering) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "linger_min"));
  phase(results, kBothWith).preemptions = 1000;
  EXPECT_TRUE(says(results, "linger_min"));
}

TEST(Advice, OfflineThatLosesMuchIsPointedToOtherPolicies) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "policy ="));
  phase(results, kBothWith).offline_steps_per_s = 1;
  EXPECT_TRUE(says(results, "28 %"));
  EXPECT_TRUE(says(results, "policy ="));
}

TEST(Advice, WorkThatIsFasterBesideOthersSaysThatTheMachineWasNotQuiet) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "cannot be"));
  phase(results, kBothWith).offline_steps_per_s = 5.5;  // 3.52 alone
  EXPECT_TRUE(says(results, "156 % of its speed alone, which cannot be"));
}

TEST(Advice, ALoadThatDoesNotCompeteProvesNothing) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "hardly competes"));
  phase(results, kBothWithout).online_latency_ms = phase(results, kOnlineAlone).online_latency_ms;
  EXPECT_TRUE(says(results, "hardly competes"));
}

TEST(Advice, AMarginWithinTheNoiseIsNotTrusted) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "noise"));
  results.criteria[0].noise = 1.5;  // a factor; 1.62 of at most 2
  EXPECT_TRUE(says(results, "noise"));
}

TEST(Advice, NoiseOfAPercentageIsADifference) {
  Results results = demo_results();
  results.criteria[2].limit = 5;  // 7.3 %
  results.criteria[2].noise = 2.2;
  EXPECT_FALSE(says(results, "noise"));
  results.criteria[2].noise = 2.4;
  EXPECT_TRUE(says(results, "noise, 2.40 %"));
}

TEST(Advice, RoundsThatDifferSayThatTheMachineWasNotQuiet) {
  Results results = demo_results();
  EXPECT_FALSE(says(results, "in another"));
  phase(results, kOfflineAlone).rounds[1].offline_steps_per_s = 2.5;
  EXPECT_TRUE(says(results, "Offline alone made 2.50 steps/s in one round and 3.66 in another"));
}

TEST(Advice, SaysWhereTimeIsEmulated) {
  Results results = demo_results();
  EXPECT_TRUE(says(results, "emulator"));
  results.environment.virtual_gpu = false;
  EXPECT_FALSE(says(results, "emulator"));
}

}  // namespace
}  // namespace gp::report
