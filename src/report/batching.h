// Many driver calls against few: the same queues stopped and started either way.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

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

// Tiers for hardware runs; empty if there are none.
std::string tier_table(const Results& results);

}  // namespace gp::report
