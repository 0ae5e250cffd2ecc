// Counts of values by size: what p50, p99 and the largest were, at a fixed cost in memory.
//
// Each power of two is divided into 32 steps, so a quantile is at most 1/32 (3 %) above the value
// it stands for. Adding is a few instructions.
#pragma once

#include <array>
#include <optional>

#include "libc/types.h"

namespace gp {

class Histogram {
 public:
  void add(u64 value);
  u64 count() const { return count_; }
  // The smallest value that a part `q` (0..1) of all values do not exceed; empty without values.
  std::optional<u64> quantile(double q) const;
  std::optional<u64> max() const;

 private:
  static constexpr u32 kStepBits = 5, kSteps = 1U << kStepBits;
  static constexpr u32 kBuckets = (64 - kStepBits + 1) * kSteps;
  static u32 bucket_of(u64 value);
  static u64 highest_in(u32 bucket);

  std::array<u32, kBuckets> counts_{};
  u64 count_ = 0;
  u64 max_ = 0;
};

}  // namespace gp
