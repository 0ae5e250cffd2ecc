// What the events of a trace mean over time: who could run when, and what the scheduler did.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/types.h"
#include "report/trace_lines.h"

namespace gp::report {

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

}  // namespace gp::report
