// Ways to stop beside each other (`gpreempt bench schemes`): the mechanisms, many driver calls
// against few, slots kept for online work; and the tiers that hardware runs are judged by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

// Not available here: only its remark means something.
inline bool is_measured(const Scheme& scheme) { return scheme.stop_p50_us.value_or(0) > 0; }

// Bars and a table; empty without schemes.
std::string scheme_comparison(const Results& results);

// Microseconds (p50): what the other ways are faster than. 0 without any.
double slowest_stop_us(const Batching& batching);

// "each queue", "each process", "all queues".
std::string call_text(const BatchWay& way);

// Bars and a table; empty if it was not compared.
std::string batching_comparison(const Results& results);

// "5.0x": how much lower online's p99 is than in the first run. Who has no slot waits for one now
// and then: it is the tail that shows it.
std::string faster_text(const Reservation& reservation, const ReservedRun& run);

// Online beside more queues than slots, with and without slots of its own; empty if not measured.
std::string reservation_comparison(const Results& results);

// The same load with lingers of various lengths; empty if they were not compared.
std::string linger_comparison(const Results& results);

// What runs on hardware are judged by: steps from good to very good, not criteria. On a virtual GPU
// times are an emulator's and say nothing of hardware: the numbers stand beside the tiers,
// unjudged.
struct Tier {
  std::string what;
  std::string unit;
  std::vector<double> limits;  // from good to very good
  bool at_least = false;       // the value must be above, not below, a limit
  std::optional<double> value;
};

// Empty if the schemes were not compared.
std::vector<Tier> hardware_tiers(const Results& results);

// The best limit that the value reaches; empty if none.
std::optional<double> reached(const Tier& tier);

// "< 1 / 0.5 / 0.3 ms".
std::string limits_text(const Tier& tier);

// Tiers for hardware runs; empty if there are none.
std::string tier_table(const Results& results);

}  // namespace gp::report
