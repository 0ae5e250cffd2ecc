// The result in one picture, for a README or a slide: a file of its own that needs no page around
// it.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

// Latencies of the phases, and one preemption from near. Empty if no phase has latencies.
std::string picture(const Results& results);

}  // namespace gp::report
