#include "base/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace gp {

// Values below kSteps have buckets of their own; above, the bits behind the leading one choose.
u32 Histogram::bucket_of(u64 value) {
  if (value < kSteps) {
    return static_cast<u32>(value);
  }
  const u32 shift = static_cast<u32>(std::bit_width(value)) - 1 - kStepBits;
  return (shift + 1) * kSteps + static_cast<u32>((value >> shift) & (kSteps - 1));
}

u64 Histogram::highest_in(u32 bucket) {
  if (bucket < kSteps) {
    return bucket;
  }
  const u32 shift = bucket / kSteps - 1;
  const u64 lowest = u64{kSteps + bucket % kSteps} << shift;
  return lowest + ((u64{1} << shift) - 1);
}

void Histogram::add(u64 value) {
  ++counts_[bucket_of(value)];
  ++count_;
  max_ = std::max(max_, value);
}

std::optional<u64> Histogram::quantile(double q) const {
  if (count_ == 0) {
    return std::nullopt;
  }
  const double rank = std::ceil(std::clamp(q, 0.0, 1.0) * static_cast<double>(count_));
  const u64 wanted = std::max<u64>(1, static_cast<u64>(rank));
  u64 seen = 0;
  for (u32 bucket = 0; bucket < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted) {
      return std::min(highest_in(bucket), max_);
    }
  }
  return max_;
}

std::optional<u64> Histogram::max() const {
  return count_ == 0 ? std::nullopt : std::optional<u64>(max_);
}

}  // namespace gp
