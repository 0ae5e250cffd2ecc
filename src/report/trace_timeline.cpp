#include "report/trace_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "report/trace_slices.h"

namespace gp::report {
namespace {

// "offline", "offline 2", ...: in the order in which the jobs came.
std::map<u64, std::string> tracks_of(const std::map<u64, std::string>& class_of_job) {
  std::map<u64, std::string> tracks;
  std::map<std::string, u32> count;
  for (const auto& [job, work_class] : class_of_job) {
    const u32 number = ++count[work_class];
    tracks[job] = number == 1 ? work_class : fmt::format("{} {}", work_class, number);
  }
  return tracks;
}

}  // namespace

Result<std::vector<Span>> timeline_of(std::string_view trace_lines, u64 start_ns, u64 end_ns) {
  const TraceSlices trace = slices_of(TRY(parse_trace(trace_lines)), end_ns);
  const std::map<u64, std::string> tracks = tracks_of(trace.class_of_job);
  std::vector<Span> timeline;
  for (const Slice& slice : trace.slices) {
    if (slice.end_ns < start_ns || slice.start_ns > end_ns) {
      continue;
    }
    Span span;
    span.track = is_of_scheduler(slice.kind) ? "scheduler" : tracks.at(slice.job);
    span.what = name(slice.kind);
    span.start_us = (std::max(slice.start_ns, start_ns) - start_ns) / 1000;
    span.end_us = (std::min(slice.end_ns, end_ns) - start_ns) / 1000;
    timeline.push_back(std::move(span));
  }
  return timeline;
}

}  // namespace gp::report
