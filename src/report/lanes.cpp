#include "report/lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/format.h"

namespace gp::report {
namespace {

constexpr double kLongestUs = 1e15;  // thirty years

Lane requests_of(const Phase& phase) {
  Lane lane{"requests", {}};
  const std::size_t count =
      std::min(phase.online_arrival_ms.size(), phase.online_latency_ms.size());
  for (std::size_t i = 0; i < count; ++i) {
    const double latency_ms = std::max(phase.online_latency_ms[i], 0.0);
    const double start = std::clamp(phase.online_arrival_ms[i] * 1000, 0.0, kLongestUs);
    lane.marks.push_back({start, std::min(start + latency_ms * 1000, kLongestUs), "request",
                          fmt::format("request answered after {}", format_ms(latency_ms))});
  }
  return lane;
}

// The class of a track's shapes: the first word of its name, if it is a class of work.
std::string shapes_of(const std::string& track) {
  for (const char* known : {"online", "offline", "scheduler"}) {
    if (track.starts_with(known)) {
      return known;
    }
  }
  return "other";
}

Mark mark_of(const Span& span) {
  Mark mark;
  mark.start_us = std::min(static_cast<double>(span.start_us), kLongestUs);
  mark.end_us = std::min(static_cast<double>(span.end_us), kLongestUs);
  const std::string shapes = shapes_of(span.track);
  const std::string length = format_ms((mark.end_us - mark.start_us) / 1000);
  mark.title = fmt::format("{}: {} for {}", span.track, span.what, length);
  if (span.what == "stopped") {
    mark.shapes = "stopped";
    mark.is_stop = true;
  } else if (shapes == "scheduler") {
    // Above each other: at small scale a stop and its start would hide one another.
    mark.shapes = span.what == "stop" || span.what == "start" ? span.what : "failed";
    mark.from = span.what == "start" ? 0.5 : 0;
    mark.to = span.what == "stop" ? 0.5 : 1;
    mark.title = fmt::format("{} in {}", span.what, length);
  } else {
    mark.shapes = shapes;
  }
  return mark;
}

int rank_of(const std::string& track) {
  const std::string shapes = shapes_of(track);
  return shapes == "online" ? 0 : shapes == "offline" ? 1 : shapes == "other" ? 2 : 3;
}

}  // namespace

std::vector<Lane> lanes_of(const Phase& phase) {
  std::vector<Lane> lanes;
  for (const Span& span : phase.timeline) {
    if (span.what == "request") {
      continue;  // drawn from the latencies, which every phase has
    }
    auto found = std::find_if(lanes.begin(), lanes.end(),
                              [&](const Lane& lane) { return lane.name == span.track; });
    if (found == lanes.end()) {
      found = lanes.insert(lanes.end(), {span.track, {}});
    }
    found->marks.push_back(mark_of(span));
  }
  for (Lane& lane : lanes) {  // stops on top: between two long runs a short one must show
    std::stable_partition(lane.marks.begin(), lane.marks.end(),
                          [](const Mark& mark) { return !mark.is_stop; });
  }
  std::stable_sort(lanes.begin(), lanes.end(), [](const Lane& a, const Lane& b) {
    return std::pair(rank_of(a.name), a.name) < std::pair(rank_of(b.name), b.name);
  });
  Lane requests = requests_of(phase);
  if (!requests.marks.empty()) {
    lanes.insert(lanes.begin(), std::move(requests));
  }
  return lanes;
}

}  // namespace gp::report
