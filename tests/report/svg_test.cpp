// Scales and ticks: every value has a place within the chart, and ticks are round.
#include "report/svg.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>

namespace gp::report {
namespace {

Scale any_scale() {
  const double a = *rc::gen::arbitrary<double>(), b = *rc::gen::arbitrary<double>();
  return *rc::gen::arbitrary<bool>() ? Scale::linear(a, b, 10, 110)
                                     : Scale::logarithmic(a, b, 10, 110);
}

RC_GTEST_PROP(ScaleProperty, EveryValueHasAPlaceOnTheChart, (double value)) {
  const double place = any_scale().at(value);
  RC_ASSERT(place >= 10 - 1e-6);
  RC_ASSERT(place <= 110 + 1e-6);
}

RC_GTEST_PROP(ScaleProperty, TicksAreOnTheScaleInOrderAndNotTooMany, ()) {
  const Scale scale = any_scale();
  const std::vector<double> ticks = scale.ticks(8);
  RC_ASSERT(ticks.size() <= 12U);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    RC_ASSERT(ticks[i] >= scale.lowest() - std::fabs(scale.lowest()) * 1e-6 - 1e-9);
    RC_ASSERT(ticks[i] <= scale.highest() + std::fabs(scale.highest()) * 1e-6 + 1e-9);
    RC_ASSERT(i == 0 || ticks[i] > ticks[i - 1]);
  }
}

TEST(Scale, IsLinearOrLogarithmicInBetween) {
  EXPECT_DOUBLE_EQ(Scale::linear(0, 10, 0, 100).at(2.5), 25);
  EXPECT_DOUBLE_EQ(Scale::linear(0, 10, 100, 0).at(2.5), 75) << "from below to above";
  EXPECT_DOUBLE_EQ(Scale::logarithmic(1, 100, 0, 100).at(10), 50);
}

TEST(Scale, LogarithmicBoundsAreRound) {
  const Scale scale = Scale::logarithmic(3.1, 187, 0, 100);
  EXPECT_DOUBLE_EQ(scale.lowest(), 2);
  EXPECT_DOUBLE_EQ(scale.highest(), 200);
  EXPECT_EQ(scale.ticks(8), (std::vector<double>{2, 5, 10, 20, 50, 100, 200}));
}

TEST(Scale, TicksAreRound) {
  EXPECT_EQ(Scale::linear(0, 15, 0, 1).ticks(8), (std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14}));
  EXPECT_EQ(Scale::linear(0, 100, 0, 1).ticks(4), (std::vector<double>{0, 50, 100}));
}

TEST(Place, IsShortAndAlwaysANumber) {
  EXPECT_EQ(place(1), "1");
  EXPECT_EQ(place(-0.01), "0");
  EXPECT_EQ(place(2.25), "2.2");
  EXPECT_EQ(place(NAN), "0");
  EXPECT_EQ(place(1e300), "1000000");
}

}  // namespace
}  // namespace gp::report
