// Phases measured in several rounds: joined to one, and how far the rounds are apart.
#include "report/phases.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "report/numbers.h"
#include "report/page.h"
#include "report/results_support.h"

namespace gp::report {
namespace {

Phase round_of(std::vector<double> latencies_ms, std::optional<double> steps_per_s,
               double duration_s = 5) {
  Phase round;
  round.name = kBothWith;
  round.online_arrival_ms.assign(latencies_ms.size(), 100);
  round.online_latency_ms = std::move(latencies_ms);
  round.offline_steps_per_s = steps_per_s;
  round.duration_s = duration_s;
  round.checksum_ok = true;
  round.preemptions = 2;
  round.timeline = {{"offline", "stopped", 1000, 2000}};
  return round;
}

TEST(Rounds, StandOneAfterTheOtherInTheJoinedPhase) {
  const Phase phase = join_rounds({round_of({1, 2}, 10), round_of({3}, 12, 4), round_of({4}, 11)});
  EXPECT_EQ(phase.name, kBothWith);
  EXPECT_EQ(phase.online_latency_ms, (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(phase.online_arrival_ms, (std::vector<double>{100, 100, 5100, 9100}));
  EXPECT_DOUBLE_EQ(phase.duration_s, 14);
  EXPECT_EQ(phase.preemptions, 6u);
  ASSERT_EQ(phase.timeline.size(), 3u);
  EXPECT_EQ(phase.timeline[2].start_us, 9'001'000u);
  EXPECT_EQ(phase.timeline[2].end_us, 9'002'000u);
  EXPECT_EQ(round_starts_us(phase), (std::vector<double>{5e6, 9e6}));
}

TEST(Rounds, TokensAreThoseOfAllAndOneOtherTextIsEnough) {
  Phase first = round_of({1}, 10), second = round_of({2}, 10);
  first.tokens = Tokens{{1}, {2, 3}, true};
  second.tokens = Tokens{{4}, {5, 6}, true};
  Phase phase = join_rounds({first, second});
  ASSERT_TRUE(phase.tokens);
  EXPECT_EQ(phase.tokens->first_ms, (std::vector<double>{1, 4}));
  EXPECT_EQ(phase.tokens->next_ms, (std::vector<double>{2, 3, 5, 6}));
  EXPECT_EQ(phase.tokens->texts_equal, true);
  second.tokens->texts_equal.reset();
  EXPECT_EQ(join_rounds({first, second}).tokens->texts_equal, std::nullopt);
  first.tokens->texts_equal = false;
  EXPECT_EQ(join_rounds({first, second}).tokens->texts_equal, false);
  second.tokens.reset();
  EXPECT_FALSE(join_rounds({first, second}).tokens) << "not of some rounds only";
}

TEST(Rounds, TheSpeedIsTheMedianAndTheSpreadTheLowestAndTheHighest) {
  const Phase phase = join_rounds({round_of({1}, 10), round_of({9}, 30), round_of({2}, 11)});
  EXPECT_EQ(phase.offline_steps_per_s, 11);
  const auto speed = speed_spread(phase), latency = latency_spread(phase, 0.5);
  ASSERT_TRUE(speed && latency);
  EXPECT_EQ(speed->lowest, 10);
  EXPECT_EQ(speed->highest, 30);
  EXPECT_EQ(latency->lowest, 1);
  EXPECT_EQ(latency->highest, 9);
}

TEST(Rounds, OneRoundHasNoSpread) {
  const Phase phase = join_rounds({round_of({1, 2, 3}, 10)});
  EXPECT_EQ(phase.rounds.size(), 1u);
  EXPECT_FALSE(latency_spread(phase, 0.5));
  EXPECT_FALSE(speed_spread(phase));
}

TEST(Rounds, WhatOneRoundDoesNotKnowIsNotCounted) {
  const Phase phase = join_rounds({round_of({}, 10), round_of({5}, {}), round_of({7}, 20)});
  EXPECT_EQ(phase.offline_steps_per_s, 15);
  EXPECT_EQ(latency_spread(phase, 0.5)->lowest, 5);
}

TEST(Rounds, OneLostResultIsALostResult) {
  std::vector<Phase> rounds = {round_of({}, 1), round_of({}, 1), round_of({}, 1)};
  EXPECT_EQ(join_rounds(rounds).checksum_ok, true);
  rounds[1].checksum_ok.reset();
  EXPECT_EQ(join_rounds(rounds).checksum_ok, std::nullopt);
  rounds[0].checksum_ok = false;
  EXPECT_EQ(join_rounds(rounds).checksum_ok, false);
}

RC_GTEST_PROP(Rounds, AreFoundAgainInTheJoinedPhase, ()) {
  std::vector<Phase> rounds;
  for (const auto& latencies : *rc::gen::arbitrary<std::vector<std::vector<double>>>()) {
    rounds.push_back(round_of(latencies, static_cast<double>(latencies.size())));
  }
  const std::vector<Phase> found = rounds_of(join_rounds(rounds));
  RC_ASSERT(found.size() == rounds.size());
  for (std::size_t i = 0; i < rounds.size(); ++i) {
    RC_ASSERT(found[i].online_latency_ms == rounds[i].online_latency_ms);
    RC_ASSERT(found[i].offline_steps_per_s == rounds[i].offline_steps_per_s);
  }
}

TEST(Rounds, AreShownWithTheirSpreadAndGapsBetweenThem) {
  const std::string page = html_page(demo_results());
  EXPECT_NE(page.find("in 3 rounds"), std::string::npos);
  EXPECT_NE(page.find("<small>3.38 – 3.66</small>"), std::string::npos) << "offline alone";
  EXPECT_NE(page.find("class=\"mark gap\""), std::string::npos);
  Results in_one_go = demo_results();
  for (Phase& phase : in_one_go.phases) {
    phase.rounds.clear();
  }
  EXPECT_EQ(html_page(in_one_go).find("rounds"), std::string::npos);
}

TEST(Median, LiesBetweenTheTwoInTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_FALSE(median({}));
}

}  // namespace
}  // namespace gp::report
