#include "base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace gp {
namespace {

TEST(Histogram, KnowsNothingWithoutValues) {
  const Histogram histogram;
  EXPECT_FALSE(histogram.quantile(0.5).has_value());
  EXPECT_FALSE(histogram.max().has_value());
}

TEST(Histogram, IsExactForSmallValues) {
  Histogram histogram;
  for (u64 value = 1; value <= 20; ++value) {
    histogram.add(value);
  }
  EXPECT_EQ(histogram.quantile(0.5), 10U);
  EXPECT_EQ(histogram.quantile(1), 20U);
  EXPECT_EQ(histogram.quantile(0), 1U);
}

TEST(Histogram, IsWithinAThirtySecondOfTheTrueQuantile) {
  std::mt19937_64 random(1);
  Histogram histogram;
  std::vector<u64> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(random() >> (random() % 64));
    histogram.add(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * static_cast<double>(values.size())));
    const u64 truth = values[rank - 1];
    EXPECT_GE(*histogram.quantile(q), truth) << q;
    EXPECT_LE(*histogram.quantile(q) - truth, truth / 32) << q;
  }
  EXPECT_EQ(histogram.max(), values.back());
}

TEST(Histogram, TakesTheLargestNumber) {
  Histogram histogram;
  histogram.add(~u64{0});
  EXPECT_EQ(histogram.quantile(0.5), ~u64{0});
}

}  // namespace
}  // namespace gp
