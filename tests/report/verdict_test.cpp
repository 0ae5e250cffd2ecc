// What was asked for: met, missed, or inconclusive because others used the machine.
#include "report/verdict.h"

#include <gtest/gtest.h>

#include "report/page.h"
#include "report/results_support.h"

namespace gp::report {
namespace {

// In ten seconds on two CPUs.
OtherPrograms others(double cpu_s, std::optional<double> waiting_s) {
  return {cpu_s, 10, 2, waiting_s};
}

Criterion at_most_three(std::optional<double> value, std::optional<OtherPrograms> others) {
  Criterion criterion;
  criterion.limit = 3;
  criterion.value = value;
  criterion.others = others;
  return criterion;
}

TEST(Verdict, ADisturbanceExcusesWhatWasMissedAndNothingElse) {
  const OtherPrograms busy = others(14, 9), quiet = others(0.2, 9);
  EXPECT_EQ(verdict_of(at_most_three(2, quiet)), Verdict::met);
  EXPECT_EQ(verdict_of(at_most_three(2, busy)), Verdict::met);
  EXPECT_EQ(verdict_of(at_most_three(4, quiet)), Verdict::missed);
  EXPECT_EQ(verdict_of(at_most_three(4, busy)), Verdict::inconclusive);
}

TEST(Verdict, WhatIsNotKnownIsNoExcuse) {
  EXPECT_EQ(verdict_of(at_most_three(4, {})), Verdict::missed);
  EXPECT_EQ(verdict_of(at_most_three({}, others(0.2, 9))), Verdict::missed);
  EXPECT_EQ(verdict_of(at_most_three({}, others(14, 9))), Verdict::inconclusive)
      << "too slow to be measured";
}

TEST(Verdict, HoldsForLowerLimitsToo) {
  Criterion criterion = at_most_three(2, others(14, 9));
  criterion.at_least = true;
  EXPECT_EQ(verdict_of(criterion), Verdict::inconclusive);
  criterion.value = 3;
  EXPECT_EQ(verdict_of(criterion), Verdict::met);
}

TEST(Disturbance, BeginsAboveAPartOfAllCpus) {
  EXPECT_FALSE(is_disturbed(others(kMostOfCpus * 20, {})));
  EXPECT_TRUE(is_disturbed(others(kMostOfCpus * 20 + 0.1, {})));
  EXPECT_FALSE(is_disturbed(OtherPrograms())) << "no time at all";
}

TEST(Disturbance, IsNoneWhereNobodyWaitedForACpu) {
  EXPECT_FALSE(is_disturbed(others(14, 0.05)));
  EXPECT_TRUE(is_disturbed(others(14, 0.5)));
}

TEST(Disturbance, IsToldInPercentOfOneCpu) {
  EXPECT_EQ(others_text(others(14, {})), "140 % of 2 CPUs");
  EXPECT_EQ(others_text({1, 10, 1, {}}), "10 % of 1 CPU");
}

TEST(Disturbance, OfSeveralTimesIsTheirSumOrUnknown) {
  const auto both = sum(others(1, 2), others(3, {}));
  ASSERT_TRUE(both);
  EXPECT_EQ(both->cpu_s, 4);
  EXPECT_EQ(both->elapsed_s, 20);
  EXPECT_FALSE(both->waiting_s);
  EXPECT_FALSE(sum(others(1, 2), {}));
}

TEST(Disturbance, OneRoundIsEnough) {
  Phase phase;
  phase.others = others(4, 9);
  phase.rounds = {{0, 1, {}, others(0.1, 9)}, {0, 1, {}, {}}, {0, 1, {}, others(14, 9)}};
  EXPECT_EQ(most_disturbed(phase)->cpu_s, 14);
}

TEST(Disturbance, IsNotHiddenByARoundInWhichNobodyWaited) {
  Phase phase;
  phase.rounds = {{0, 1, {}, others(10, 0.05)}, {0, 1, {}, others(9, 3)}};
  EXPECT_EQ(most_disturbed(phase)->cpu_s, 9);
  EXPECT_TRUE(is_disturbed(most_disturbed(phase)));
}

// A run that got worse, as one did beside compilers.
Results worse() {
  Results results = demo_results();
  results.phases[2].online_latency_ms.assign(results.phases[2].online_latency_ms.size(), 64.9);
  results.phases[3].online_latency_ms.assign(results.phases[3].online_latency_ms.size(), 304);
  return results;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Headline, SaysThatItGotWorse) {
  const std::string page = html_page(worse());
  EXPECT_TRUE(
      contains(page, "<h1>Online p99 got worse with gpreempt: 304 ms, and 64.9 ms without"));
  EXPECT_TRUE(contains(page, "64.9 ms without gpreempt: worse"));
  EXPECT_TRUE(contains(picture(worse()), "worse with gpreempt"));
}

TEST(Headline, DoesNotBlameGpreemptForWhatOthersDid) {
  Results results = worse();
  results.phases[3].rounds[1].others = others(14, 9);
  results.phases[3].others = others(6, 9);
  const std::string page = html_page(results);
  EXPECT_TRUE(contains(page, "<h1>Inconclusive: other programs took 140 % of 2 CPUs</h1>"));
  EXPECT_TRUE(contains(page, "p99 was 64.9 ms without gpreempt and 304 ms with it"));
  EXPECT_TRUE(contains(page, "<small>up to 140 %</small>"));
  EXPECT_TRUE(contains(page, "Repeat it while nothing else runs"));
}

TEST(Headline, WhatFellBesideOthersIsToldWithThem) {
  Results results = demo_results();
  results.phases[3].rounds[1].others = others(14, 9);
  const std::string page = html_page(results);
  EXPECT_TRUE(contains(page, "online p99 falls from"));
  EXPECT_TRUE(contains(page, "other programs took up to 140 % of 2 CPUs"));
}

TEST(VerdictSection, CountsWhatIsInconclusive) {
  Results results = demo_results();
  results.criteria[2].others = others(14, 9);
  const std::string page = html_page(results);
  EXPECT_TRUE(contains(page, "4 of 6 criteria met, 1 inconclusive"));
  EXPECT_TRUE(contains(page, "? inconclusive"));
  EXPECT_TRUE(contains(page, "<small>other programs took 140 % of 2 CPUs</small>"));
}

}  // namespace
}  // namespace gp::report
