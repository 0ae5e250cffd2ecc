// From the daemon's trace (wire::Kind::trace) to pictures of it: its lines, what they mean over
// time, the timeline of a report, and a file for ui.perfetto.dev.
#pragma once

#include <sys/types.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "libc/types.h"
#include "report/results.h"

namespace gp::report {

// The daemon's answer: its event ring, one JSON object per line (src/core/sched/trace.h has what
// the events mean).
struct TraceLine {
  u64 number = 0;   // the first is 0; a first line with a higher one: earlier ones were overwritten
  u64 time_ns = 0;  // CLOCK_MONOTONIC
  std::string event, work_class;
  u64 job = 0;
  std::optional<pid_t> pid;  // empty: of the whole job
  i64 value = 0;
};

Result<std::vector<TraceLine>> parse_trace(std::string_view lines);

// What the events mean over time: who could run when, and what the scheduler did.
enum class SliceKind : u8 {
  // Of a job; these never overlap.
  running,  // it had work, and its queues could run
  may_run,  // its queues could run; whether it had work is not known
  stopped,  // its queues could not run
  // Of the scheduler.
  stop,         // from the decision to the answer of the job's last process
  start,        // the same
  failed,       // a moment: a way to stop did not work, or none did
  lease_ended,  // a moment: the job runs again by itself
};
const char* name(SliceKind kind);
inline bool is_of_scheduler(SliceKind kind) { return kind >= SliceKind::stop; }

struct Slice {
  SliceKind kind{};
  u64 job = 0;
  u64 start_ns = 0, end_ns = 0;
};

struct TraceSlices {
  std::vector<Slice> slices;                // in the order of their start
  std::map<u64, std::string> class_of_job;  // "online", ...: the last one it had
};

// What is still under way at the last line, or at `end_ns` if that is later, ends there. Where the
// ring has lost the beginning, a job's first event tells what must have been before.
TraceSlices slices_of(const std::vector<TraceLine>& lines, u64 end_ns = 0);

// The timeline of a report: what happened from `start_ns` to `end_ns` of CLOCK_MONOTONIC, with
// times from `start_ns` on. Tracks are called by class: "online", "offline", "normal"; the second
// job of a class is "offline 2". A job is "running" while it has work and its queues may run,
// "stopped" while they may not; one that does not say whether it has work "may run". The track
// "scheduler" has what it did about it: "stop" and "start", each from the decision to the last
// process's answer. An error if a line cannot be understood.
Result<std::vector<Span>> timeline_of(std::string_view trace_lines, u64 start_ns, u64 end_ns);

// One moment, on the two clocks that a viewer needs: ours, and the one that it shows.
struct ClockReading {
  u64 monotonic_ns = 0, boottime_ns = 0;
};

// A trace for ui.perfetto.dev: one track per job, one for the scheduler. `names` of jobs by id; a
// job without one is called by its number.
std::string perfetto_trace(const TraceSlices& trace, const std::map<u64, std::string>& names,
                           const ClockReading& clocks);

}  // namespace gp::report
