// What the policies have in common: who may stop whom, for how long, and how wishes about single
// jobs become a Decision.
#pragma once

#include <algorithm>
#include <optional>

#include "policy/policy.h"

namespace gp::policy {

// What one job should be, and when that may change without an event.
struct Wish {
  bool stop = false;
  std::optional<u64> again_ns;
};

inline bool is_down(const JobView& job) {
  return job.state == JobState::stopped || job.state == JobState::stopping;
}
inline bool is_busy(const JobView& job) { return job.busy.value_or(false); }

// Sums of times saturate: a far end never wraps into the past.
inline u64 later(u64 time_ns, u64 by_ns) {
  return time_ns + by_ns < time_ns ? ~u64{0} : time_ns + by_ns;
}
inline std::optional<u64> sooner(std::optional<u64> a, std::optional<u64> b) {
  return a && b ? std::min(*a, *b) : (a ? a : b);
}

// Whether its class and the mechanisms let a job be stopped at all. `priority` decides about online
// jobs itself.
bool may_be_stopped(const JobView& job, const Parameters& parameters);

// Whether `claimant` may stop `victim`: another job, on a GPU they share, of an owner it governs.
bool may_stop(const JobView& claimant, const JobView& victim);

// The longest that a stop may outlast the work it is for.
inline u64 longest_linger_ns(const Parameters& parameters) {
  return std::max(parameters.linger_min_ns, parameters.linger_max_ns);
}

// When a busy job that completes nothing stops counting.
u64 ignored_from_ns(const JobView& claimant, const Parameters& parameters);

// `strict`, for one pair that may_stop() each other.
Wish claim(const View& view, const Parameters& parameters, const JobView& claimant,
           const JobView& victim);

// Two wishes about the same job: stopped if either says so.
Wish either(const Wish& a, const Wish& b);

// Holds back what would come too soon: a stop before min_run has passed, a start beyond the rate.
Wish settled(const View& view, const Parameters& parameters, const JobView& job, Wish wish);

// Adds to the decision what turns the job into what is wished.
void apply(const View& view, const JobView& job, const Wish& wish, Decision& decision);

// The wishes of all online jobs about one, by `strict`.
Wish strict_wish(const View& view, const Parameters& parameters, const JobView& job);

}  // namespace gp::policy
