// The daemon's answer to control::Kind::trace: its event ring, one JSON object per line
// (src/sched/trace.h has what the events mean).
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

namespace gp::report {

struct TraceLine {
  u64 number = 0;   // the first is 0; a first line with a higher one: earlier ones were overwritten
  u64 time_ns = 0;  // CLOCK_MONOTONIC
  std::string event, work_class;
  u64 job = 0;
  std::optional<pid_t> pid;  // empty: of the whole job
  i64 value = 0;
};

Result<std::vector<TraceLine>> parse_trace(std::string_view lines);

}  // namespace gp::report
