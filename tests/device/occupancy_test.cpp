// How many waves a CU holds.
#include "device/occupancy.h"

#include <gtest/gtest.h>

namespace vgpu::device {
namespace {

u32 groups_that_fit(const GpuConfig& config, const Footprint& need) {
  Occupancy occupancy(config);
  u32 count = 0;
  while (occupancy.place(need, CuSet().set())) {
    ++count;
  }
  return count;
}

GpuConfig one_cu() {
  GpuConfig config;
  config.cus = 1;
  return config;
}

TEST(OccupancyTest, WaveSlotsLimitSmallWaves) {
  EXPECT_EQ(groups_that_fit(one_cu(), {.waves = 1, .vgprs = 8, .sgprs = 16}), 32u);
  GpuConfig gfx906 = one_cu();
  gfx906.arch = isa::Arch::gfx906;
  gfx906.waves_per_simd = 10;
  gfx906.vgprs_per_simd = 256;
  EXPECT_EQ(groups_that_fit(gfx906, {.waves = 1, .vgprs = 4, .sgprs = 16}), 40u);
}

TEST(OccupancyTest, RegistersLimitLargeWaves) {
  EXPECT_EQ(groups_that_fit(one_cu(), {.waves = 1, .vgprs = 128, .sgprs = 16}), 16u);
  EXPECT_EQ(groups_that_fit(one_cu(), {.waves = 1, .vgprs = 512, .sgprs = 16}), 4u);
  EXPECT_EQ(groups_that_fit(one_cu(), {.waves = 1, .vgprs = 8, .sgprs = 112}), 28u);
}

TEST(OccupancyTest, LdsAndBarriersLimitGroups) {
  EXPECT_EQ(groups_that_fit(one_cu(), {.waves = 1, .vgprs = 8, .sgprs = 16, .lds = 16384}), 4u);
  GpuConfig wide = one_cu();
  wide.waves_per_simd = 16;
  EXPECT_EQ(groups_that_fit(wide, {.waves = 2, .vgprs = 8, .sgprs = 16}), 16u);
}

TEST(OccupancyTest, AGroupIsPlacedWholeOrNotAtAll) {
  Occupancy occupancy(one_cu());
  ASSERT_TRUE(occupancy.place({.waves = 16, .vgprs = 128, .sgprs = 16}, CuSet().set()));
  EXPECT_FALSE(occupancy.place({.waves = 2, .vgprs = 8, .sgprs = 16}, CuSet().set()));
  EXPECT_EQ(occupancy.waves_resident(), 16u);
}

TEST(OccupancyTest, ReleasedRoomCanBeTakenAgain) {
  Occupancy occupancy(one_cu());
  const Footprint need = {.waves = 4, .vgprs = 512, .sgprs = 96, .lds = 65536};
  for (int i = 0; i < 100; ++i) {
    const auto place = occupancy.place(need, CuSet().set());
    ASSERT_TRUE(place);
    EXPECT_FALSE(occupancy.place(need, CuSet().set()));
    occupancy.release(need, *place);
  }
  EXPECT_EQ(occupancy.waves_resident(), 0u);
}

TEST(OccupancyTest, TheMaskSaysWhichCusMayBeUsed) {
  GpuConfig config;
  config.cus = 40;
  Occupancy occupancy(config);
  const u32 mask[] = {0x4, 0x1};  // CUs 2 and 32
  const CuSet allowed = occupancy.cus_of_mask(mask);
  const Footprint need = {.waves = 4, .vgprs = 512, .sgprs = 16};
  const auto first = occupancy.place(need, allowed);
  const auto second = occupancy.place(need, allowed);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->cu + second->cu, 34u);
  EXPECT_FALSE(occupancy.place(need, allowed));
  const u32 none[] = {0};
  EXPECT_TRUE(occupancy.place(need, occupancy.cus_of_mask(none)));
}

TEST(OccupancyTest, WhatNeverFitsIsKnown) {
  Occupancy occupancy(one_cu());
  EXPECT_TRUE(occupancy.fits_empty_cu({.waves = 16, .vgprs = 128, .sgprs = 112}));
  EXPECT_FALSE(occupancy.fits_empty_cu({.waves = 16, .vgprs = 136, .sgprs = 112}));
  EXPECT_FALSE(occupancy.fits_empty_cu({.waves = 1, .vgprs = 8, .sgprs = 16, .lds = 66048}));
}

}  // namespace
}  // namespace vgpu::device
