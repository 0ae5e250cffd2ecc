// Many calls against few, slots kept free, and the tiers for hardware runs.
#include "report/comparisons.h"

#include <gtest/gtest.h>

#include "report/results_support.h"

namespace gp::report {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

Tier tier(const Results& results, const std::string& part) {
  for (const Tier& each : hardware_tiers(results)) {
    if (contains(each.what, part)) {
      return each;
    }
  }
  ADD_FAILURE() << "no tier " << part;
  return {};
}

TEST(Batching, IsComparedWithTheSlowest) {
  const std::string markup = batching_comparison(demo_results());
  EXPECT_TRUE(contains(markup, "10 queues of 5 processes"));
  EXPECT_TRUE(contains(markup, "debugger, one call for each queue"));
  EXPECT_TRUE(contains(markup, "kernel, one call for all queues"));
  EXPECT_TRUE(contains(markup, ">16x<")) << markup;
}

TEST(Batching, AWayThatIsNotAvailableSaysWhy) {
  Results results = demo_results();
  results.batching->ways.resize(1);
  results.batching->ways.push_back({"kernel", "", 0, 0, 0, 0, 0, {}, {}, "not <patched>"});
  EXPECT_TRUE(contains(batching_comparison(results), "not &lt;patched&gt;"));
  EXPECT_EQ(tier(results, "unmap").value, std::nullopt);
}

TEST(Batching, WhatWasNotComparedIsNotShown) {
  Results results = demo_results();
  results.batching.reset();
  results.reservation.reset();
  results.lingers.clear();
  EXPECT_EQ(batching_comparison(results) + reservation_comparison(results) +
                linger_comparison(results) + tier_table(results),
            "");
}

TEST(Lingers, AreComparedWithTheBestFixedOneAndWithAJobThatIsNeverStarted) {
  const std::string markup = linger_comparison(demo_results());
  EXPECT_TRUE(contains(markup, "fixed at 20 ms (the best fixed)")) << markup;
  EXPECT_TRUE(contains(markup, "never over")) << markup;
  EXPECT_TRUE(contains(markup, "97 %")) << markup;
}

TEST(Reservation, IsComparedWithNone) {
  const std::string markup = reservation_comparison(demo_results());
  EXPECT_TRUE(contains(markup, "34 queues on 24 slots"));
  EXPECT_TRUE(contains(markup, "6.8x")) << markup;  // 61 ms over 9 ms
  EXPECT_TRUE(contains(markup, "96 %")) << markup;
}

TEST(Tiers, TheBestThatIsReachedCounts) {
  Results results = demo_results();
  EXPECT_EQ(limits_text(tier(results, "unmap of 10 queues")), "< 1 / 0.5 / 0.3 ms");
  EXPECT_EQ(reached(tier(results, "unmap of 10 queues")), 0.5);
  EXPECT_EQ(reached(tier(results, "as one")), 2);
  EXPECT_EQ(reached(tier(results, "slots in use")), 80);
  results.reservation->runs[1].slots_used = 0.8;
  EXPECT_EQ(reached(tier(results, "slots in use")), std::nullopt);
}

TEST(Tiers, EmulatedNumbersAreNotJudged) {
  Results results = demo_results();
  EXPECT_TRUE(contains(tier_table(results), "not judged"));
  EXPECT_FALSE(contains(tier_table(results), ">0.5<"));
  results.environment.virtual_gpu = false;
  EXPECT_FALSE(contains(tier_table(results), "not judged"));
  EXPECT_TRUE(contains(tier_table(results), ">0.5<"));
}

TEST(Tiers, WithoutCountsTheCallsCount) {
  Results results = demo_results();
  results.batching->ways.back().stop_unmaps.reset();
  EXPECT_EQ(tier(results, "as one").value, 1);
}

}  // namespace
}  // namespace gp::report
