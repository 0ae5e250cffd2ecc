#include "report/charts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "report/html.h"
#include "report/numbers.h"
#include "report/phases.h"
#include "report/results.h"
#include "report/svg.h"

namespace gp::report {
namespace {

// What a timeline shows, before it is drawn: lanes with marks on them.
struct Mark {
  double start_us = 0, end_us = 0;
  std::string shapes;  // its class: "online", "offline", "stopped", "stop", "start", "request"
  std::string title;   // what a pointer over it shows
  bool is_stop = false;
  double from = 0, to = 1;  // the part of the lane's height it takes
};

struct Lane {
  std::string name;
  std::vector<Mark> marks;
};

struct TimeWindow {
  double start_us = 0, end_us = 0;
};

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

// Requests, from their intended arrival to their answer; then online, offline and other tracks;
// the scheduler last. Lanes without marks are left out.
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

constexpr double kLanesLeft = 124, kLanesRight = kTimelineWidth - 24;
constexpr double kLane = 28, kGap = 8, kLanesTop = 6, kAxis = 34;

double height_of(const std::vector<Lane>& lanes) {
  return kLanesTop + static_cast<double>(lanes.size()) * (kLane + kGap) + kAxis;
}

// Coordinates along the time are in millionths of the window: a place with one decimal is then
// exact to the microsecond in a phase of ten seconds, and the script can zoom as far.
constexpr double kUnits = 1e6;
constexpr double kThinnest = 0.1;  // a rectangle of no width is not drawn at all, nor its edge

std::string mark(const Mark& mark, const TimeWindow& window, double y) {
  const double per_us = kUnits / (window.end_us - window.start_us);
  const double start = std::max(mark.start_us, window.start_us);
  const double end = std::min(mark.end_us, window.end_us);
  const std::string title =
      mark.title.empty() ? "" : fmt::format("<title>{}</title>", escape(mark.title));
  return fmt::format(R"(<rect class="mark {}" x="{}" y="{}" width="{}" height="{}">{}</rect>)"
                     "\n",
                     mark.shapes, place((start - window.start_us) * per_us),
                     place(y + mark.from * kLane),
                     place(std::max((end - start) * per_us, kThinnest)),
                     place((mark.to - mark.from) * kLane), title);
}

// A gap through all lanes where a round ends and the next begins.
std::string gap(double moment_us, const TimeWindow& window, double height) {
  const double part = (moment_us - window.start_us) / (window.end_us - window.start_us);
  return fmt::format(R"(<rect class="mark gap" x="{}" y="0" width="{}" height="{}"/>)"
                     "\n",
                     place(part * kUnits), place(kThinnest), place(height));
}

void draw_ticks(Svg& svg, const TimeWindow& window, double bottom) {
  const Scale x = Scale::linear(0, window.end_us - window.start_us, kLanesLeft, kLanesRight);
  svg.raw("<g class=\"ticks\">");
  for (const double tick : x.ticks(8)) {
    svg.line(x.at(tick), kLanesTop, x.at(tick), bottom, "grid");
    svg.text(x.at(tick), bottom + 22, format_short_ms(tick / 1000), "tick middle");
  }
  svg.raw("</g>");
}

std::string draw(const std::vector<Lane>& lanes, const std::vector<double>& gaps_us,
                 const TimeWindow& window, const std::string& label) {
  const double height = height_of(lanes), bottom = height - kAxis;
  Svg svg(kTimelineWidth, height, label, "timeline");
  draw_ticks(svg, window, bottom);
  double y = kLanesTop;
  std::string marks;
  for (const Lane& lane : lanes) {
    svg.text(kLanesLeft - 10, y + kLane / 2 + 4, lane.name, "label end");
    svg.rect(kLanesLeft, y, kLanesRight - kLanesLeft, kLane, "lane");
    for (const Mark& each : lane.marks) {
      if (each.end_us >= window.start_us && each.start_us <= window.end_us) {
        marks += mark(each, window, y - kLanesTop);
      }
    }
    y += kLane + kGap;
  }
  for (const double moment_us : gaps_us) {
    if (moment_us > window.start_us && moment_us < window.end_us) {
      marks += gap(moment_us, window, bottom - kLanesTop);
    }
  }
  svg.raw(fmt::format(R"(<svg class="lanes" x="{}" y="{}" width="{}" height="{}")"
                      R"( viewBox="0 0 {} {}" preserveAspectRatio="none" data-length-us="{}">)"
                      "\n{}</svg>",
                      place(kLanesLeft), place(kLanesTop), place(kLanesRight - kLanesLeft),
                      place(bottom - kLanesTop), place(kUnits), place(bottom - kLanesTop),
                      fmt::format("{:.0f}", window.end_us - window.start_us), marks));
  svg.line(kLanesLeft, bottom, kLanesRight, bottom, "axis");
  return svg.finish();
}

// The stop of median length.
std::optional<Mark> usual_stop(const std::vector<Lane>& lanes) {
  std::vector<Mark> stops;
  for (const Lane& lane : lanes) {
    std::copy_if(lane.marks.begin(), lane.marks.end(), std::back_inserter(stops),
                 [](const Mark& mark) { return mark.is_stop; });
  }
  if (stops.empty()) {
    return std::nullopt;
  }
  const auto middle = stops.begin() + static_cast<std::ptrdiff_t>(stops.size() / 2);
  std::nth_element(stops.begin(), middle, stops.end(), [](const Mark& a, const Mark& b) {
    return a.end_us - a.start_us < b.end_us - b.start_us;
  });
  return *middle;
}

// When that began which led to the stop: the request, online's work or the decision; unless it is
// so long ago that the stop would hardly be seen beside it.
double start_of_cause(const std::vector<Lane>& lanes, const Mark& stop) {
  const double earliest = stop.start_us - 3 * (stop.end_us - stop.start_us);
  double start_us = stop.start_us;
  for (const Lane& lane : lanes) {
    for (const Mark& mark : lane.marks) {
      const bool causes =
          mark.shapes == "request" || mark.shapes == "online" || mark.shapes == "stop";
      if (causes && mark.start_us >= earliest && mark.end_us >= stop.start_us) {
        start_us = std::min(start_us, mark.start_us);
      }
    }
  }
  return start_us;
}

}  // namespace

bool has_timeline(const Phase& phase) { return !lanes_of(phase).empty(); }

double length_us_of(const Phase& phase) {
  double length_us = std::clamp(phase.duration_s, 0.0, 1e9) * 1e6;
  for (const Lane& lane : lanes_of(phase)) {
    for (const Mark& mark : lane.marks) {
      length_us = std::max(length_us, mark.end_us);
    }
  }
  return std::max(length_us, 1.0);
}

std::string timeline_chart(const Phase& phase, double length_us) {
  return draw(lanes_of(phase), round_starts_us(phase), {0, length_us},
              "Who had the GPU when, over the whole phase");
}

std::optional<CloseUp> preemption_close_up(const Phase& phase) {
  const std::vector<Lane> lanes = lanes_of(phase);
  const std::optional<Mark> stop = usual_stop(lanes);
  if (!stop) {
    return std::nullopt;
  }
  const double start_us = start_of_cause(lanes, *stop);
  const double margin = std::max((stop->end_us - start_us) * 0.15, 1.0);
  const TimeWindow window{std::max(start_us - margin, 0.0), stop->end_us + margin};
  return CloseUp{window.start_us, height_of(lanes),
                 draw(lanes, round_starts_us(phase), window, "One preemption from near")};
}

}  // namespace gp::report
