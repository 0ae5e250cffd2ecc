// A trace for ui.perfetto.dev: one track per job, one for the scheduler.
#pragma once

#include <map>
#include <string>

#include "report/trace_slices.h"

namespace gp::report {

// One moment, on the two clocks that a viewer needs: ours, and the one that it shows.
struct ClockReading {
  u64 monotonic_ns = 0, boottime_ns = 0;
};

// `names` of jobs by id; a job without one is called by its number.
std::string perfetto_trace(const TraceSlices& trace, const std::map<u64, std::string>& names,
                           const ClockReading& clocks);

}  // namespace gp::report
