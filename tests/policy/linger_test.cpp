// What is learnt of a program's gaps, and what a wrong prediction can cost at most.
#include "policy/linger.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "policy/policy_support.h"

namespace gp::policy {
namespace {

constexpr StopCost kCost{1 * kMs, 1 * kMs};  // with the default weight of 8: a price of 10 ms
constexpr u64 kPriceNs = 10 * kMs;
const Parameters kDefaults;

// The gaps of a program, one after the other, and what they have cost.
struct Account {
  u64 spent_ns = 0, fixed_ns = 0, best_ns = 0;
};
Account live(Linger& linger, const std::vector<u64>& gaps_ns, const Parameters& parameters,
             const StopCost& cost = kCost) {
  Account account;
  for (const u64 gap_ns : gaps_ns) {
    linger.plan(parameters, cost);
    const LingerPlan plan = linger.planned();
    account.spent_ns += cost_of_gap_ns(gap_ns, plan.ns, plan.price_ns);
    account.fixed_ns += cost_of_gap_ns(gap_ns, plan.fixed_ns, plan.price_ns);
    account.best_ns += std::min(gap_ns, plan.price_ns);
    linger.gap_ended(gap_ns);
  }
  return account;
}

// A language model: so many tokens, a gap of the CPU between two, then a pause.
std::vector<u64> requests_of_tokens(u32 requests, u32 tokens, u64 gap_ns, u64 pause_ns) {
  std::mt19937 random(1);
  std::lognormal_distribution<double> spread(0, 0.1);
  std::vector<u64> gaps_ns;
  for (u32 i = 0; i < requests; ++i) {
    for (u32 j = 1; j < tokens; ++j) {
      gaps_ns.push_back(static_cast<u64>(static_cast<double>(gap_ns) * spread(random)));
    }
    gaps_ns.push_back(pause_ns);
  }
  return gaps_ns;
}

TEST(Linger, LastsForASettingUntilAStopIsMeasured) {
  Linger linger;
  linger.plan(kDefaults, std::nullopt);
  EXPECT_EQ(linger.planned().ns, kDefaults.linger_unmeasured_ns);
  EXPECT_EQ(linger.planned().source, LingerSource::unmeasured);
}

TEST(Linger, LastsForThePriceOfAStopAndAStartWhileGapsAreUnknown) {
  Linger linger;
  linger.plan(kDefaults, kCost);
  EXPECT_EQ(linger.planned().ns, kPriceNs);
  EXPECT_EQ(linger.planned().source, LingerSource::price);
}

TEST(Linger, SpansThePausesBetweenTokens) {
  Linger linger;
  const StopCost busy_machine{4 * kMs, 2 * kMs};
  live(linger, requests_of_tokens(10, 16, 8 * kMs, 500 * kMs), kDefaults, busy_machine);
  linger.plan(kDefaults, busy_machine);
  EXPECT_EQ(linger.planned().source, LingerSource::gaps);
  EXPECT_GT(linger.planned().ns, 8 * kMs);
  EXPECT_LT(linger.planned().ns, 20 * kMs);
}

TEST(Linger, DoesNotSpanPausesThatAreWorthMoreThanTheirPrice) {
  Linger linger;
  live(linger, requests_of_tokens(10, 16, 30 * kMs, 500 * kMs), kDefaults);
  linger.plan(kDefaults, kCost);
  EXPECT_EQ(linger.planned().ns, 0U);
}

TEST(Linger, EndsAtOnceWhenOnlyLongPausesFollow) {
  Linger linger;
  live(linger, std::vector<u64>(20, 200 * kMs), kDefaults);
  linger.plan(kDefaults, kCost);
  EXPECT_EQ(linger.planned().ns, 0U);
}

TEST(Linger, SpansTheShortGapsWithinARequestAndNoMore) {
  Linger linger;
  live(linger, requests_of_tokens(20, 5, 100'000, 200 * kMs), kDefaults);
  linger.plan(kDefaults, kCost);
  EXPECT_GE(linger.planned().ns, 100'000U);
  EXPECT_LT(linger.planned().ns, 1 * kMs);
}

TEST(Linger, LeavesWorkStoppedThroughGapsThatAreShorterThanStopsTake) {
  const StopCost six_processes{10 * kMs, 10 * kMs};
  Linger linger;
  live(linger, std::vector<u64>(40, 5 * kMs), kDefaults, six_processes);
  linger.plan(kDefaults, six_processes);
  EXPECT_GE(linger.planned().ns, 5 * kMs);
}

// As llama-server's: fifty short gaps per answer, and in every second answer one that is ten times
// as long.
TEST(Linger, SpansGapsThatAreRareWithinARequest) {
  std::vector<u64> gaps_ns;
  for (u32 request = 0; request < 40; ++request) {
    for (u32 i = 0; i < 50; ++i) {
      gaps_ns.push_back(i == 17 && request % 2 == 0 ? 2500'000 : 250'000);
    }
    gaps_ns.push_back(350 * kMs);
  }
  Linger linger;
  live(linger, gaps_ns, kDefaults);
  u32 starts = 0;  // in the next answers
  for (const u64 gap_ns : gaps_ns) {
    linger.plan(kDefaults, kCost);
    starts += gap_ns > linger.planned().ns;
    linger.gap_ended(gap_ns);
  }
  EXPECT_EQ(starts, 40U);
  EXPECT_LT(linger.planned().ns, kPriceNs);
}

TEST(Linger, ForgetsWhatAProgramDidBefore) {
  Linger linger;
  live(linger, std::vector<u64>(2000, 200 * kMs), kDefaults);
  live(linger, std::vector<u64>(2000, 3 * kMs), kDefaults);
  linger.plan(kDefaults, kCost);
  EXPECT_GE(linger.planned().ns, 3 * kMs);
}

TEST(Linger, CanBeToldNotToLearn) {
  Parameters parameters;
  parameters.learn_gaps = false;
  Linger linger;
  live(linger, std::vector<u64>(100, 200 * kMs), parameters);
  linger.plan(parameters, kCost);
  EXPECT_EQ(linger.planned().ns, kPriceNs);
}

TEST(Linger, OfALearnerCostsLittleMoreThanTheBestFixedOne) {
  for (const u64 gap_ms : {1, 3, 8, 15}) {
    const std::vector<u64> gaps_ns = requests_of_tokens(60, 16, gap_ms * kMs, 300 * kMs);
    Linger linger;
    const Account learnt = live(linger, gaps_ns, kDefaults);
    u64 best_fixed_ns = ~u64{0};
    for (u64 fixed_us = 0; fixed_us <= 50'000; fixed_us += 100) {
      u64 cost_ns = 0;
      for (const u64 gap_ns : gaps_ns) {
        cost_ns += cost_of_gap_ns(gap_ns, fixed_us * 1000, kPriceNs);
      }
      best_fixed_ns = std::min(best_fixed_ns, cost_ns);
    }
    EXPECT_LT(static_cast<double>(learnt.spent_ns), 1.1 * static_cast<double>(best_fixed_ns))
        << "gaps of " << gap_ms << " ms";
  }
}

// An enemy who knows the plan: the gap ends just after the linger.
TEST(Linger, IsBoundedAgainstAnEnemyWhoKnowsIt) {
  Linger linger;
  live(linger, std::vector<u64>(100, 200 * kMs), kDefaults);
  u64 spent_ns = 0, fixed_ns = 0;
  for (int i = 0; i < 5000; ++i) {
    linger.plan(kDefaults, kCost);
    const LingerPlan plan = linger.planned();
    const u64 gap_ns = plan.ns + 1;
    spent_ns += cost_of_gap_ns(gap_ns, plan.ns, plan.price_ns);
    fixed_ns += cost_of_gap_ns(gap_ns, plan.fixed_ns, plan.price_ns);
    linger.gap_ended(gap_ns);
  }
  EXPECT_LE(spent_ns, fixed_ns + fixed_ns / 8 + Linger::kPursePrices * kPriceNs);
}

RC_GTEST_PROP(TheLinger, NeverCostsMuchMoreThanTheFixedOneWhateverTheGaps, ()) {
  Parameters parameters;
  parameters.linger_min_ns = *rc::gen::inRange<u64>(0, 3) * kMs;
  parameters.linger_max_ns = *rc::gen::inRange<u64>(0, 100) * kMs;
  parameters.online_weight = *rc::gen::inRange(0, 20);
  const StopCost cost{*rc::gen::inRange<u64>(1, 20'000) * 1000,
                      *rc::gen::inRange<u64>(1, 20'000) * 1000};
  const auto exponents = *rc::gen::container<std::vector<u64>>(rc::gen::inRange<u64>(0, 1000));
  std::vector<u64> gaps_ns;
  for (const u64 exponent : exponents) {  // of all sizes alike, from a microsecond to a minute
    gaps_ns.push_back(static_cast<u64>(1e3 * std::pow(6e7, static_cast<double>(exponent) / 1000)));
  }
  Linger linger;
  Account all;
  for (int round = 0; round < 4; ++round) {
    const Account one = live(linger, gaps_ns, parameters, cost);
    all.spent_ns += one.spent_ns;
    all.fixed_ns += one.fixed_ns;
    all.best_ns += one.best_ns;
  }
  linger.plan(parameters, cost);
  const u64 price_ns = linger.planned().price_ns;
  RC_ASSERT(all.spent_ns <= all.fixed_ns + all.fixed_ns / 8 + Linger::kPursePrices * price_ns);
  if (parameters.linger_min_ns <= price_ns && price_ns <= parameters.linger_max_ns) {
    RC_ASSERT(all.fixed_ns <= 2 * all.best_ns);
  }
}

RC_GTEST_PROP(TheLinger, StaysWithinItsBounds, ()) {
  Parameters parameters;
  parameters.linger_min_ns = *rc::gen::inRange<u64>(0, 10) * kMs;
  parameters.linger_max_ns = *rc::gen::inRange<u64>(0, 10) * kMs;
  const auto gaps_us = *rc::gen::container<std::vector<u64>>(rc::gen::inRange<u64>(0, 100'000));
  Linger linger;
  for (const u64 gap_us : gaps_us) {
    linger.plan(parameters, kCost);
    RC_ASSERT(linger.planned().ns >= parameters.linger_min_ns);
    RC_ASSERT(linger.planned().ns <= std::max(parameters.linger_min_ns, parameters.linger_max_ns));
    linger.gap_ended(gap_us * 1000);
  }
}

RC_GTEST_PROP(TheGaps, AreCountedWithinAnEighthOfTheirLength, ()) {
  const u64 gap_ns = *rc::gen::inRange<u64>(20'000, 17'000'000'000);
  GapCounts gaps;
  gaps.add(gap_ns);
  const u64 counted_ns = gaps.quantile_ns(0.5).value_or(0);
  RC_ASSERT(counted_ns >= gap_ns);
  RC_ASSERT(counted_ns <= gap_ns + gap_ns / 8 + 1000);
}

// The linger that is found costs at most a tenth more than any other that could be, and no longer
// one that just spans a gap does so, too.
RC_GTEST_PROP(TheGaps, HaveNoLingerThatIsMuchCheaperThanTheOneFoundNorALongerOneAsCheap, ()) {
  const auto gaps_us = *rc::gen::container<std::vector<u64>>(rc::gen::inRange<u64>(1, 60'000));
  GapCounts gaps;
  for (const u64 gap_us : gaps_us) {
    gaps.add(gap_us * 1000);
  }
  const u64 price_ns = *rc::gen::inRange<u64>(1, 50'000) * 1000;
  const u64 found_ns = gaps.patient_linger_ns(0, 50 * kMs, price_ns);
  const u64 other_ns = *rc::gen::inRange<u64>(0, 50'000) * 1000;
  const u64 lowest_ns = gaps.lowest_cost_ns(0, 50 * kMs, price_ns);
  RC_ASSERT(lowest_ns <= gaps.cost_ns(other_ns, price_ns));
  RC_ASSERT(gaps.cost_ns(found_ns, price_ns) <= lowest_ns + lowest_ns / 10);
  for (u64 q = 0; q <= 100; ++q) {
    const u64 gap_ns = gaps.quantile_ns(static_cast<double>(q) / 100).value_or(0);
    if (gap_ns > found_ns && gap_ns <= 50 * kMs) {
      RC_ASSERT(gaps.cost_ns(gap_ns, price_ns) > lowest_ns + lowest_ns / 10);
    }
  }
}

}  // namespace
}  // namespace gp::policy
