// How long a stop outlasts the online work it was made for.
//
// When online work goes idle, offline work can stay stopped, and loses the time until online work
// comes back; or it is started, and then that costs a price: the offline work a start and a stop,
// the online work its wait for that stop. Whoever knew the gap would choose the cheaper. Who does
// not know it, and waits for just as long as the price, never pays twice what was best (the
// ski-rental problem): the fixed linger.
//
// But programs repeat themselves. A language model computes token after token, with the CPU's work
// between two of them; a server answers in a few bursts and then waits for the next request. So the
// gaps of each job are counted by length, and the linger that would have been cheapest over the
// last few thousand is used in place of the fixed one: long enough to span the gaps within a
// request, short when what follows is a long pause.
//
// Of lingers that cost nearly the same the longest is used, and few thousand gaps are remembered,
// not few hundred. llama-server makes some fifty gaps per answer, one in a hundred of them ten
// times as long as most: what is rare has been seen too seldom to be counted right, and it is
// online work that waits where it was counted too low.
//
// A prediction may be wrong. What it can cost is bounded by a purse, which holds what the learnt
// lingers have saved against the fixed one, and never more than a few prices. A learnt linger is
// used only if the purse can pay for the worst gap there could be. So, whatever the gaps:
//
//   all costs <= 9/8 of what the fixed linger would have cost + kPursePrices prices
//
// Nothing here has a clock: the same gaps and prices lead to the same lingers.
#pragma once

#include <array>
#include <optional>

#include "policy/policy.h"

namespace gp::policy {

// What stopping and starting all that online work wants stopped takes.
struct StopCost {
  u64 stop_ns = 0, start_ns = 0;
};

// The cost of a gap during which a stop lasts for `linger_ns`, and of starting and stopping if the
// gap is longer.
inline u64 cost_of_gap_ns(u64 gap_ns, u64 linger_ns, u64 price_ns) {
  return gap_ns <= linger_ns ? gap_ns : linger_ns + price_ns;
}

// How often gaps of each length have come lately. A power of two is divided into eight steps, and a
// gap counts as long as the longest of its step. The older half fades whenever the counts are full.
class GapCounts {
 public:
  void add(u64 gap_ns);
  u32 total() const { return total_; }
  // The length that a part `q` of the gaps do not exceed; empty without any.
  std::optional<u64> quantile_ns(double q) const;
  // What all of them would cost.
  u64 cost_ns(u64 linger_ns, u64 price_ns) const;
  // What they would cost with the best linger within the bounds.
  u64 lowest_cost_ns(u64 shortest_ns, u64 longest_ns, u64 price_ns) const;
  // The longest linger within the bounds that costs hardly more than the best one.
  u64 patient_linger_ns(u64 shortest_ns, u64 longest_ns, u64 price_ns) const;

 private:
  template <class Visit>
  void for_each_linger(u64 shortest_ns, u64 longest_ns, u64 price_ns, Visit visit) const;

  // From 18 microseconds to 17 seconds; what is longer counts as that.
  static constexpr u32 kSteps = 8, kOctaves = 20, kBuckets = kSteps * kOctaves;
  static constexpr u32 kFull = 4096;
  static u64 longest_in(u32 bucket) {
    return u64{kSteps + 1 + bucket % kSteps} << (11 + bucket / kSteps);
  }

  std::array<u16, kBuckets> counts_{};
  u32 total_ = 0;
};

enum class LingerSource : u8 {
  unmeasured,  // no stop has been measured yet: a setting
  price,       // the fixed linger
  gaps,        // learnt
};
const char* name(LingerSource source);

struct LingerPlan {
  u64 ns = 0;
  LingerSource source = LingerSource::unmeasured;
  u64 fixed_ns = 0;  // what the fixed linger would be
  u64 price_ns = 0;  // 0: not measured
};

// The linger of the stops for one job.
class Linger {
 public:
  // The job has gone idle: how long what is stopped for it stays so. `cost` is empty if nothing is
  // stopped, or nothing has been measured.
  void plan(const Parameters& parameters, const std::optional<StopCost>& cost);
  // It has work again, after so long.
  void gap_ended(u64 gap_ns);

  const LingerPlan& planned() const { return plan_; }
  const GapCounts& gaps() const { return gaps_; }

  static constexpr u64 kPursePrices = 4;  // what the purse holds at most, and at first

 private:
  bool can_afford(u64 linger_ns) const;

  GapCounts gaps_;
  LingerPlan plan_;
  bool opened_ = false;
  u64 purse_ns_ = 0;
};

}  // namespace gp::policy
