// The share of the last second in which the device was busy.
#include "device/busy_meter.h"

#include <gtest/gtest.h>

#include <random>

namespace vgpu::device {
namespace {

constexpr u64 kMs = 1'000'000;
constexpr u64 kStart = 123'456'789 * kMs;  // no whole tenth of a second

TEST(BusyMeter, ADeviceThatNeverRanIsIdle) {
  BusyMeter meter;
  EXPECT_EQ(meter.percent(kStart), 0u);
  EXPECT_EQ(meter.percent(kStart), 0u);
}

TEST(BusyMeter, OneThatRunsOnIsFullyBusyAfterASecondAndIdleASecondAfterItStopped) {
  BusyMeter meter;
  meter.set(true, kStart);
  EXPECT_GT(meter.percent(kStart + 100 * kMs), 5u);
  EXPECT_EQ(meter.percent(kStart + 1100 * kMs), 100u);
  EXPECT_EQ(meter.percent(kStart + 3600'000 * kMs), 100u);
  meter.set(false, kStart + 3600'000 * kMs);
  EXPECT_GT(meter.percent(kStart + 3600'500 * kMs), 40u);
  EXPECT_EQ(meter.percent(kStart + 3601'100 * kMs), 0u);
}

TEST(BusyMeter, AFifthOfTheTimeIsTwentyPercent) {
  BusyMeter meter;
  u64 now = kStart;
  for (int i = 0; i < 5000; ++i) {
    meter.set(true, now);
    meter.set(false, now + kMs / 5);
    now += kMs;
  }
  EXPECT_EQ(meter.percent(now), 20u);
}

// Whatever the pattern: what it says is the exact share of a window of 0.9 to 1 s.
TEST(BusyMeter, AgreesWithTheSumOfTheIntervals) {
  std::mt19937_64 random(7);
  BusyMeter meter;
  std::vector<std::pair<u64, u64>> intervals;
  u64 now = kStart;
  for (int i = 0; i < 20000; ++i) {
    const u64 idle = random() % (random() % 50 == 0 ? 700 * kMs : 3 * kMs);
    const u64 busy = random() % (random() % 50 == 0 ? 700 * kMs : 3 * kMs);
    meter.set(true, now += idle);
    intervals.emplace_back(now, now + busy);
    meter.set(false, now += busy);
    const u64 begin = (now / (100 * kMs) - 9) * 100 * kMs;
    u64 sum = 0;
    for (auto it = intervals.rbegin(); it != intervals.rend() && it->second > begin; ++it) {
      sum += it->second - std::max(it->first, begin);
    }
    ASSERT_EQ(meter.percent(now), (sum * 100 + (now - begin) / 2) / (now - begin)) << i;
  }
}

}  // namespace
}  // namespace vgpu::device
