// From the daemon's trace (control::Kind::trace) to the timeline of a report.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "report/results.h"

namespace gp::report {

// What happened from `start_ns` to `end_ns` of CLOCK_MONOTONIC, with times from `start_ns` on.
// Tracks are called by class: "online", "offline", "normal"; the second job of a class is
// "offline 2". A job is "running" while it has work and its queues may run, "stopped" while they
// may not; one that does not say whether it has work "may run". The track "scheduler" has what it
// did about it: "stop" and "start", each from the decision to the last process's answer. An error
// if a line cannot be understood.
Result<std::vector<Span>> timeline_of(std::string_view trace_lines, u64 start_ns, u64 end_ns);

}  // namespace gp::report
