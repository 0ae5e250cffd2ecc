#include "policy/linger.h"

#include <algorithm>
#include <bit>

namespace gp::policy {
namespace {

// Fewer gaps than these predict nothing.
constexpr u32 kFewGaps = 8;
// The part of the fixed linger's cost by which the purse grows with every gap: what lets a program
// that has spent it, and behaves again, be learnt again.
constexpr u64 kPurseShare = 8;
// A linger that costs a tenth more than the cheapest is as good.
constexpr u64 kPatience = 10;

u64 price_of(const StopCost& cost, double online_weight) {
  const double waits = online_weight * static_cast<double>(cost.stop_ns);
  return cost.stop_ns + cost.start_ns + static_cast<u64>(waits);
}

}  // namespace

const char* name(LingerSource source) {
  switch (source) {
    case LingerSource::unmeasured: return "unmeasured";
    case LingerSource::price: return "price";
    case LingerSource::gaps: return "gaps";
  }
  return "unknown";
}

void GapCounts::add(u64 gap_ns) {
  u32 bucket = 0;
  while (bucket + 1 < kBuckets && gap_ns > longest_in(bucket)) {
    ++bucket;
  }
  ++counts_[bucket];
  if (++total_ < kFull) {
    return;
  }
  total_ = 0;
  for (u16& count : counts_) {
    count /= 2;
    total_ += count;
  }
}

std::optional<u64> GapCounts::quantile_ns(double q) const {
  if (total_ == 0) {
    return std::nullopt;
  }
  const double wanted = q * total_;
  u32 seen = 0, bucket = 0;
  for (; bucket + 1 < kBuckets; ++bucket) {
    seen += counts_[bucket];
    if (seen != 0 && seen >= wanted) {
      break;
    }
  }
  return longest_in(bucket);
}

u64 GapCounts::cost_ns(u64 linger_ns, u64 price_ns) const {
  u64 cost_ns = 0;
  for (u32 bucket = 0; bucket < kBuckets; ++bucket) {
    cost_ns += counts_[bucket] * cost_of_gap_ns(longest_in(bucket), linger_ns, price_ns);
  }
  return cost_ns;
}

// Calls `visit` with each linger that could be the cheapest, and its cost, the shortest first: the
// shortest allowed, and those that just span gaps there were.
template <class Visit>
void GapCounts::for_each_linger(u64 shortest_ns, u64 longest_ns, u64 price_ns, Visit visit) const {
  visit(shortest_ns, cost_ns(shortest_ns, price_ns));
  u64 spanned_ns = 0;  // all gaps up to this bucket
  u32 longer = total_;
  for (u32 bucket = 0; bucket < kBuckets && longest_in(bucket) <= longest_ns; ++bucket) {
    spanned_ns += counts_[bucket] * longest_in(bucket);
    longer -= counts_[bucket];
    if (counts_[bucket] != 0 && longest_in(bucket) > shortest_ns) {
      visit(longest_in(bucket), spanned_ns + longer * (longest_in(bucket) + price_ns));
    }
  }
}

u64 GapCounts::lowest_cost_ns(u64 shortest_ns, u64 longest_ns, u64 price_ns) const {
  u64 lowest_ns = ~u64{0};
  for_each_linger(shortest_ns, longest_ns, price_ns,
                  [&](u64, u64 cost_ns) { lowest_ns = std::min(lowest_ns, cost_ns); });
  return lowest_ns;
}

u64 GapCounts::patient_linger_ns(u64 shortest_ns, u64 longest_ns, u64 price_ns) const {
  const u64 lowest_ns = lowest_cost_ns(shortest_ns, longest_ns, price_ns);
  const u64 most_ns = lowest_ns + lowest_ns / kPatience;
  u64 longest_found_ns = shortest_ns;
  for_each_linger(shortest_ns, longest_ns, price_ns, [&](u64 linger_ns, u64 cost_ns) {
    longest_found_ns = cost_ns <= most_ns ? linger_ns : longest_found_ns;
  });
  return longest_found_ns;
}

// The worst gap for a shorter linger than the fixed one ends just after it; for a longer one, any
// that outlasts both.
bool Linger::can_afford(u64 linger_ns) const {
  const u64 worst_ns = linger_ns < plan_.fixed_ns ? plan_.price_ns : linger_ns - plan_.fixed_ns;
  return worst_ns <= purse_ns_;
}

void Linger::plan(const Parameters& parameters, const std::optional<StopCost>& cost) {
  const u64 shortest_ns = parameters.linger_min_ns;
  const u64 longest_ns = std::max(shortest_ns, parameters.linger_max_ns);
  if (!cost) {
    plan_ = {};
    plan_.ns = plan_.fixed_ns =
        std::clamp(parameters.linger_unmeasured_ns, shortest_ns, longest_ns);
    return;
  }
  plan_.source = LingerSource::price;
  plan_.price_ns = price_of(*cost, parameters.online_weight);
  plan_.ns = plan_.fixed_ns = std::clamp(plan_.price_ns, shortest_ns, longest_ns);
  purse_ns_ = opened_ ? purse_ns_ : kPursePrices * plan_.price_ns;
  opened_ = true;
  if (!parameters.learn_gaps || gaps_.total() < kFewGaps) {
    return;
  }
  const u64 learnt_ns = gaps_.patient_linger_ns(shortest_ns, longest_ns, plan_.price_ns);
  if (can_afford(learnt_ns) &&
      gaps_.cost_ns(learnt_ns, plan_.price_ns) < gaps_.cost_ns(plan_.fixed_ns, plan_.price_ns)) {
    plan_.ns = learnt_ns;
    plan_.source = LingerSource::gaps;
  }
}

void Linger::gap_ended(u64 gap_ns) {
  gaps_.add(gap_ns);
  if (plan_.price_ns == 0) {
    return;
  }
  const u64 spent_ns = cost_of_gap_ns(gap_ns, plan_.ns, plan_.price_ns);
  const u64 fixed_ns = cost_of_gap_ns(gap_ns, plan_.fixed_ns, plan_.price_ns);
  purse_ns_ += fixed_ns + fixed_ns / kPurseShare;
  purse_ns_ -= std::min(purse_ns_, spent_ns);
  purse_ns_ = std::min(purse_ns_, kPursePrices * plan_.price_ns);
}

}  // namespace gp::policy
