// How long requests took: as a cumulative share, and as histograms under each other.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

// Both are empty if no phase has latencies. They have the same logarithmic axis.
std::string latency_cdf(const Results& results);
std::string latency_histograms(const Results& results);
// The colours of the phases, with their p50 and p99.
std::string latency_legend(const Results& results);

}  // namespace gp::report
