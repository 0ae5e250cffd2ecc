#include "report/trace_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

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

// Jobs of which nothing is known but that they might have run: they neither said that they have
// work nor were they stopped, and have no part in what a timeline is to show.
std::set<u64> silent_jobs(const std::vector<Slice>& slices) {
  std::set<u64> silent, others;
  for (const Slice& slice : slices) {
    (slice.kind == SliceKind::may_run ? silent : others).insert(slice.job);
  }
  std::erase_if(silent, [&](u64 job) { return others.contains(job); });
  return silent;
}

}  // namespace

Result<std::vector<Span>> timeline_of(std::string_view trace_lines, u64 start_ns, u64 end_ns) {
  TraceSlices trace = slices_of(TRY(parse_trace(trace_lines)), end_ns);
  const std::set<u64> silent = silent_jobs(trace.slices);
  std::erase_if(trace.class_of_job, [&](const auto& job) { return silent.contains(job.first); });
  const std::map<u64, std::string> tracks = tracks_of(trace.class_of_job);
  std::vector<Span> timeline;
  for (const Slice& slice : trace.slices) {
    if (slice.end_ns < start_ns || slice.start_ns > end_ns || silent.contains(slice.job)) {
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
