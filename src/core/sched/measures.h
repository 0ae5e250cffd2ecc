// What the engine measures: what is usual of late, how long each step of a preemption takes, and
// how often a job may be stopped.
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "base/histogram.h"
#include "libc/types.h"

namespace gp::sched {

// A recent average: each new value counts an eighth.
class Average {
 public:
  void add(u64 value) { value_ = value_ ? *value_ - *value_ / 8 + value / 8 : value; }
  std::optional<u64> value() const { return value_; }

 private:
  std::optional<u64> value_;
};

// The median of the last five, the lower of two: a single slow one, the first stop of a process
// say, is not usual.
class Usual {
 public:
  void add(u64 value) { last_[added_++ % last_.size()] = value; }
  std::optional<u64> value() const {
    if (added_ == 0) {
      return std::nullopt;
    }
    std::array<u64, 5> sorted = last_;
    const auto end = sorted.begin() + std::min<u64>(added_, sorted.size());
    std::sort(sorted.begin(), end);
    return sorted[(end - sorted.begin() - 1) / 2];
  }

 private:
  std::array<u64, 5> last_{};
  u64 added_ = 0;
};

// The steps from an online process's first packet to offline queues off the hardware, in
// nanoseconds. Ours are the first two; the third is the driver's and the hardware's.
struct Latencies {
  Histogram notify_to_decision;  // from the doorbell, as its agent saw it
  Histogram decision_to_ioctl;
  Histogram notify_to_ioctl;  // both together: quantiles cannot be added up
  Histogram ioctl;
  Histogram busy_to_stopped;  // the whole: until every process of the job is known to be stopped
};

// Bounds a rate: `burst` at once, then `per_second`.
class Allowance {
 public:
  void take(u64 now_ns, double per_second, double burst, double amount = 1) {
    level_ = level_at(now_ns, per_second, burst) - amount;
    since_ns_ = now_ns;
  }
  // When there will be one more to take; in the past or `now_ns` if there is one.
  u64 next_ns(u64 now_ns, double per_second, double burst) const {
    const double level = level_at(now_ns, per_second, burst);
    if (level >= 1) {
      return now_ns;
    }
    return now_ns + static_cast<u64>((1 - level) / per_second * 1e9) + 1;
  }

 private:
  double level_at(u64 now_ns, double per_second, double burst) const {
    const double gained = static_cast<double>(now_ns - since_ns_) * 1e-9 * per_second;
    return since_ns_ == 0 ? burst : std::min(burst, level_ + gained);
  }
  double level_ = 0;
  u64 since_ns_ = 0;
};

}  // namespace gp::sched
