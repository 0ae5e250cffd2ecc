// The two kinds of charts that are about time: how long requests took (latency_chart.cpp), and who
// had the GPU when (timeline_chart.cpp), each stop visible however short it is.
#pragma once

#include <optional>
#include <string>

#include "report/results.h"

namespace gp::report {

// How long requests took: as a cumulative share, and as histograms under each other. Both are empty
// if no phase has latencies. They have the same logarithmic axis.
std::string latency_cdf(const Results& results);
std::string latency_histograms(const Results& results);
// The colours of the phases, with their p50 and p99.
std::string latency_legend(const Results& results);

bool has_timeline(const Phase& phase);

// The whole phase; the page's script can zoom it. `length_us`: so that phases can be compared.
std::string timeline_chart(const Phase& phase, double length_us);

// One preemption from near, for readers without the script: around a stop of usual length. Nothing
// if the phase has none.
struct CloseUp {
  double start_us;  // into the phase
  double height;    // of the picture, at a width of kTimelineWidth
  std::string svg;
};
inline constexpr double kTimelineWidth = 920;
std::optional<CloseUp> preemption_close_up(const Phase& phase);

double length_us_of(const Phase& phase);

}  // namespace gp::report
