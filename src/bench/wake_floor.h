// What a wake-up of another process costs on this machine, whoever does it.
#pragma once

#include "base/result.h"

namespace gp::bench {

// Microseconds from writing an eventfd to the reader's first instruction, median of many, with
// both idle in between. What gpreempt does with two such wake-ups cannot take less than twice that.
Result<double> wake_floor_us();

}  // namespace gp::bench
