// What two wake-ups cost on this machine as it is loaded now, whoever does them.
#pragma once

#include <chrono>

#include "base/result.h"

namespace gp::bench {

struct WakeFloor {  // microseconds
  double p50 = 0, p99 = 0;
};

// From writing an eventfd that a process waits for, which writes another, to the first instruction
// of a third process that waits for that one; so often, with a pause in between. The two are
// scheduled as daemon and agent are. What gpreempt does with such a chain cannot take less.
Result<WakeFloor> measure_two_wake_ups(int times, std::chrono::milliseconds pause);

}  // namespace gp::bench
