// When the example server's requests arrive.
#include "arrivals.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace {

TEST(Arrivals, FixedOnesAreEquallyFarApart) {
  EXPECT_EQ(fixed_arrivals(4, 2500), (Arrivals{0, 2500, 5000, 7500}));
}

TEST(Arrivals, PoissonOnesAreTheSameForTheSameSeed) {
  EXPECT_EQ(poisson_arrivals(100, 1000, 7), poisson_arrivals(100, 1000, 7));
  EXPECT_NE(poisson_arrivals(100, 1000, 7), poisson_arrivals(100, 1000, 8));
}

TEST(Arrivals, PoissonOnesHaveTheMeanAndTheSpreadOfAnExponential) {
  constexpr unsigned kCount = 100'000;
  const Arrivals arrivals = poisson_arrivals(kCount, 1000, 1);
  ASSERT_TRUE(std::is_sorted(arrivals.begin(), arrivals.end()));
  EXPECT_NEAR(static_cast<double>(arrivals.back()) / kCount, 1000, 20);
  unsigned longer_than_mean = 0;
  for (unsigned i = 1; i < kCount; i++) {
    longer_than_mean += arrivals[i] - arrivals[i - 1] > 1000 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(longer_than_mean) / kCount, 0.3679, 0.01);  // 1/e
}

TEST(Arrivals, BurstsComeAtOnceAndAtTheSameRate) {
  EXPECT_EQ(burst_arrivals(5, 100, 2), (Arrivals{0, 0, 200, 200, 400}));
}

TEST(Arrivals, ATraceIsReadInMilliseconds) {
  std::istringstream file("# recorded\n0\n1.5\n\n1.5\n1000\n");
  unsigned line = 0;
  EXPECT_EQ(traced_arrivals(file, &line), (Arrivals{0, 1500, 1500, 1'000'000}));
}

TEST(Arrivals, ADamagedTraceIsRefusedWithItsLine) {
  const std::vector<std::pair<std::string, unsigned>> cases = {
      {"0\nsoon\n", 2}, {"-1\n", 1}, {"0\n5\n4\n", 3}, {"1 2\n", 1}, {"nan\n", 1}, {"1e300\n", 1}};
  for (const auto& [text, bad] : cases) {
    std::istringstream file(text);
    unsigned line = 0;
    EXPECT_FALSE(traced_arrivals(file, &line)) << text;
    EXPECT_EQ(line, bad) << text;
  }
}

}  // namespace
