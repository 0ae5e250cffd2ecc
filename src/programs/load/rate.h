// How fast this GPU is: kernels are asked for by their length, and made of rounds.
#pragma once

#include "stream.h"

namespace gp::load {

struct Rate {
  double rounds_per_ms = 0;
  double ticks_per_ms = 0;  // of the GPU's own clock
};

// Runs kernels on an idle stream until one takes long enough to be measured.
Rate measure_rate(Stream& stream, const Kernel& kernel, std::uint32_t groups);

// A kernel that takes `ms` at that rate. A wave that looks at its clock 16 times too late, and 20
// us later than that, stood still.
Work work_of(const Kernel& kernel, std::uint32_t groups, double ms, const Rate& rate);

}  // namespace gp::load
