// The host knows what a kernel computes without computing it: compared with computing it.
#include "expected.h"

#include <gtest/gtest.h>

#include <vector>

namespace gp::load {
namespace {

// As kernels.cl has it, round by round.
u32 computed(const KernelKind& kind, u32 seed, u32 lane, u32 rounds) {
  std::vector<u32> states(kind.states);
  for (u32 n = 0; n < kind.states; ++n) {
    states[n] = (seed + lane) * 2654435761u + n * 40503u;
  }
  for (u32 round = 0; round < rounds; ++round) {
    if (kind.rounds_per_step == 1) {
      for (u32& state : states) {
        state = state * kStep.a + kStep.c;
      }
    } else {
      u32& state = states[round % kind.rounds_per_step];
      state = state * kStep.a + kStep.c;
    }
  }
  u32 sum = 0;
  for (const u32 state : states) {
    sum += state;
  }
  return sum;
}

TEST(Expected, IsWhatTheRoundsMake) {
  for (const KernelKind& kind : kKernels) {
    for (const u32 rounds : {64u, 128u, 64u * 37}) {
      const Expected expected(kind, 7, rounds);
      for (const u32 lane : {0u, 1u, 63u, 64u, 100'000u}) {
        EXPECT_EQ(expected(lane), computed(kind, 7, lane, rounds)) << kind.name << " " << rounds;
      }
    }
  }
}

TEST(Expected, DiffersFromLaneToLaneAndFromLaunchToLaunch) {
  const KernelKind& small = kKernels[0];
  EXPECT_NE(Expected(small, 1, 64)(0), Expected(small, 1, 64)(1));
  EXPECT_NE(Expected(small, 1, 64)(0), Expected(small, 2, 64)(0));
  EXPECT_NE(Expected(small, 1, 64)(0), Expected(small, 1, 128)(0));
}

}  // namespace
}  // namespace gp::load
