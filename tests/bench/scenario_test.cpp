// What a scenario's outcome is worth beside other programs.
#include "bench/scenario.h"

#include <gtest/gtest.h>

#include "bench/criteria.h"
#include "report/verdict.h"

namespace gp::bench {
namespace {

using report::Verdict;

const report::OtherPrograms kBusy{14, 10, 2, 9.0}, kQuiet{0.1, 10, 2, 9.0};

Attempt attempt(double value, std::optional<report::OtherPrograms> others) {
  Attempt made;
  made.outcome.criteria = {at_most("test", "a time", 3, "ms", value)};
  made.others = others;
  return made;
}

TEST(Scenario, OnlyWhatDependsOnTimeAndWasMeasuredIsExcused) {
  Outcome outcome;
  outcome.criteria = {at_most("test", "a time", 3, "ms", 4), at_most("test", "a ratio", 3, "x", 4),
                      at_most("test", "a count", 3, "", 4), holds("test", "nothing lost", false),
                      at_most("test", "failed", 3, "ms", {})};
  note_others(kBusy, outcome);
  EXPECT_EQ(verdict_of(outcome.criteria[0]), Verdict::inconclusive);
  EXPECT_EQ(verdict_of(outcome.criteria[1]), Verdict::inconclusive);
  EXPECT_EQ(verdict_of(outcome.criteria[2]), Verdict::missed);
  EXPECT_EQ(verdict_of(outcome.criteria[3]), Verdict::missed);
  EXPECT_EQ(verdict_of(outcome.criteria[4]), Verdict::missed);
}

TEST(Scenario, OfTwoAttemptsTheQuieterCountsWhateverItMeasured) {
  EXPECT_EQ(quieter(attempt(1, kBusy), attempt(9, kQuiet)).outcome.criteria.at(0).value, 9);
  EXPECT_EQ(quieter(attempt(9, kQuiet), attempt(1, kBusy)).outcome.criteria.at(0).value, 9);
  EXPECT_EQ(quieter(attempt(9, kBusy), attempt(1, {})).outcome.criteria.at(0).value, 9);
}

}  // namespace
}  // namespace gp::bench
