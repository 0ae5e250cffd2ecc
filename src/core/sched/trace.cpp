#include "sched/trace.h"

#include <algorithm>

namespace gp::sched {

const char* name(TraceKind kind) {
  switch (kind) {
    case TraceKind::process_joined: return "process_joined";
    case TraceKind::process_left: return "process_left";
    case TraceKind::busy: return "busy";
    case TraceKind::idle: return "idle";
    case TraceKind::stop_decided: return "stop_decided";
    case TraceKind::start_decided: return "start_decided";
    case TraceKind::process_stopped: return "process_stopped";
    case TraceKind::process_started: return "process_started";
    case TraceKind::mechanism_failed: return "mechanism_failed";
    case TraceKind::job_failed: return "job_failed";
    case TraceKind::lease_ended: return "lease_ended";
  }
  return "unknown";
}

std::vector<TraceEvent> Trace::since(u64 from, std::size_t most) const {
  std::vector<TraceEvent> events;
  const u64 oldest = next_ > kEvents ? next_ - kEvents : 0;
  for (u64 number = std::max(from, oldest); number < next_ && events.size() < most; ++number) {
    events.push_back(events_[number % kEvents]);
  }
  return events;
}

}  // namespace gp::sched
