// Who had the GPU when: lanes over time, each stop visible however short it is.
#pragma once

#include <optional>
#include <string>

#include "report/results.h"

namespace gp::report {

struct TimeWindow {
  double start_us = 0, end_us = 0;
};

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
