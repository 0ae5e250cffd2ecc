// Numbers: exact quantiles, and how people read them.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/numbers.h"

namespace gp::report {
namespace {

TEST(Quantile, IsTheSmallestValueThatSuchAPartDoesNotExceed) {
  std::vector<double> values(100);
  std::iota(values.begin(), values.end(), 1);
  std::reverse(values.begin(), values.end());
  const Summary summary(values);
  EXPECT_EQ(summary.quantile(0.5), 50);
  EXPECT_EQ(summary.quantile(0.99), 99);
  EXPECT_EQ(summary.max(), 100);
  EXPECT_EQ(summary.quantile(0), 1);
  EXPECT_EQ(Summary({}).quantile(0.5), std::nullopt);
}

RC_GTEST_PROP(QuantileProperty, CountsWhatItClaims, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(0, 50), [](int value) { return double(value); })));
  const double q = *rc::gen::inRange(1, 101) / 100.0;
  const double quantile = *Summary(values).quantile(q);
  const auto part_below = [&](auto below) {
    return static_cast<double>(std::count_if(values.begin(), values.end(), below)) /
           static_cast<double>(values.size());
  };
  RC_ASSERT(part_below([&](double value) { return value <= quantile; }) >= q - 1e-9);
  RC_ASSERT(part_below([&](double value) { return value < quantile; }) < q);
}

TEST(Format, KeepsThreeDigits) {
  EXPECT_EQ(format_number(0), "0");
  EXPECT_EQ(format_number(0.01234), "0.012");
  EXPECT_EQ(format_number(1.234), "1.23");
  EXPECT_EQ(format_number(9.999), "10.0");
  EXPECT_EQ(format_number(12.34), "12.3");
  EXPECT_EQ(format_number(99.97), "100");
  EXPECT_EQ(format_number(1234567), "1,234,567");
  EXPECT_EQ(format_number(-1234), "-1,234");
  EXPECT_EQ(format_number(std::optional<double>()), "N/A");
}

TEST(Format, TimesHaveTheUnitThatFits) {
  EXPECT_EQ(format_ms(0.85), "850 µs");
  EXPECT_EQ(format_ms(12.34), "12.3 ms");
  EXPECT_EQ(format_ms(999.7), "1.00 s");
  EXPECT_EQ(format_ms(0.0), "0 ms");
  EXPECT_EQ(format_ms(std::optional<double>()), "N/A");
}

TEST(Format, AxesHaveNoZerosAtTheEnd) {
  EXPECT_EQ(format_short_ms(5), "5 ms");
  EXPECT_EQ(format_short_ms(1500), "1.5 s");
  EXPECT_EQ(format_short_ms(0), "0");
  EXPECT_EQ(format_short(200), "200");
  EXPECT_EQ(format_short(1e15), "1.00e+15");
}

TEST(Format, FactorsAndPercentagesAreAsFineAsTheyAreSure) {
  EXPECT_EQ(format_factor(4.04), "4.0x");
  EXPECT_EQ(format_factor(18.75), "19x");
  EXPECT_EQ(format_percent(0.9199), "92 %");
  EXPECT_EQ(format_factor(INFINITY), "N/A");
}

}  // namespace
}  // namespace gp::report
