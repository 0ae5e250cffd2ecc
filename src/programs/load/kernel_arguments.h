// What the host and kernels.cl say to each other.
#pragma once

#include <cstdint>

namespace gp::load {

constexpr std::uint32_t kLanesPerGroup = 256;
constexpr std::uint32_t kLanesPerWave = 64;
constexpr std::uint32_t kRoundsPerLook = 64;  // at the clock; the rounds of a kernel are a multiple

// What a wave saw of the GPU's own clock, in its ticks.
struct WaveClock {
  std::uint64_t begin, end;         // begin as soon as it has begun, all else when it has ended
  std::uint64_t stood_still, gaps;  // in all, and how often: gaps above KernelArguments::gap_ticks
  std::uint64_t longest_gap, longest_gap_end;
};

struct KernelArguments {
  std::uint32_t* results;   // one per lane
  WaveClock* waves;         // one per wave
  std::uint32_t* progress;  // the rounds that the first wave has made, as it goes
  std::uint64_t gap_ticks;  // more than that between two looks at the clock: the wave stood still
  std::uint32_t rounds;
  std::uint32_t seed, a, c;
};
static_assert(sizeof(KernelArguments) == 48);

}  // namespace gp::load
