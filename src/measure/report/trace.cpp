#include "report/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

namespace gp::report {
namespace {

using nlohmann::json;

// A double holds whole nanoseconds up to 2^53, which is 104 days; after that it is off by one or
// two, which no picture shows.
u64 nanoseconds(double microseconds) { return static_cast<u64>(std::llround(microseconds * 1000)); }

std::optional<TraceLine> parse_line(std::string_view text) {
  const json object = json::parse(text, nullptr, false);
  try {
    TraceLine line;
    line.number = object.at("number").get<u64>();
    const double time_us = object.at("time_us").get<double>();
    if (!(time_us >= 0 && time_us < 9e15)) {
      return std::nullopt;
    }
    line.time_ns = nanoseconds(time_us);
    line.event = object.at("event").get<std::string>();
    line.work_class = object.at("class").get<std::string>();
    line.job = object.at("job").get<u64>();
    if (!object.at("pid").is_null()) {
      line.pid = object.at("pid").get<pid_t>();
    }
    line.value = object.at("value").get<i64>();
    return line;
  } catch (const json::exception&) {
    return std::nullopt;  // the caller says which line
  }
}

}  // namespace

Result<std::vector<TraceLine>> parse_trace(std::string_view lines) {
  std::vector<TraceLine> parsed;
  while (!lines.empty()) {
    const std::size_t end = std::min(lines.find('\n'), lines.size());
    const std::string_view text = lines.substr(0, end);
    lines.remove_prefix(std::min(end + 1, lines.size()));
    std::optional<TraceLine> line = parse_line(text);
    if (!line) {
      return Error{EPROTO, fmt::format("the trace cannot be understood: {}", text.substr(0, 200)),
                   "gpreempt and gpreemptd may be of different versions"};
    }
    parsed.push_back(std::move(*line));
  }
  return parsed;
}

namespace {

// An order of the scheduler, from the decision to the last answer so far. A stop may be decided
// before the start before it was answered, and the other way round: the answers come later, in the
// order of the decisions.
struct Order {
  SliceKind kind{};
  u64 decided_ns = 0;
  std::optional<u64> answered_ns;
};

// Follows one job from event to event.
class Follower {
 public:
  Follower(u64 job, std::vector<Slice>& slices) : job_(job), slices_(slices) {}

  void take(const TraceLine& line, u64 oldest_ns) {
    if (!seen_ && line.event != "process_joined") {
      infer_what_was_before(line, oldest_ns);
    }
    if (!seen_ || pids_.empty()) {
      open_ = open_.value_or(line.time_ns);
    }
    seen_ = true;
    if (line.pid && line.event != "process_left") {
      pids_.insert(*line.pid);
    }
    apply(line);
  }

  void finish(u64 now_ns) {
    finish_order(stop_, now_ns);
    finish_order(start_, now_ns);
    leave_gpu_until_now(now_ns);
    free_at(now_ns);
    open_.reset();
    busy_ = false;
    if (!said_busy_) {
      for (const auto& [start_ns, end_ns] : could_run_) {
        add(SliceKind::may_run, start_ns, end_ns);
      }
    }
    could_run_.clear();
  }

 private:
  void apply(const TraceLine& line) {
    const u64 now = line.time_ns;
    if (line.event == "busy" || line.event == "idle") {
      set_busy(now, line.event == "busy");
    } else if (line.event == "stop_decided") {
      finish_order(stop_, now);
      stop_ = Order{SliceKind::stop, now, {}};
    } else if (line.event == "start_decided") {
      finish_order(start_, now);
      start_ = Order{SliceKind::start, now, {}};
    } else if (line.event == "process_stopped") {
      answer(stop_, SliceKind::stop, line);
      end_if_older(start_, *stop_);
      off_ns_ = now;  // of several processes the last counts
    } else if (line.event == "process_started") {
      answer(start_, SliceKind::start, line);
      end_if_older(stop_, *start_);
      leave_gpu_until_now(now);
    } else if (line.event == "lease_ended") {
      moment(SliceKind::lease_ended, now);
      leave_gpu_until_now(now);
    } else if (line.event == "mechanism_failed" || line.event == "job_failed") {
      moment(SliceKind::failed, now);
    } else if (line.event == "process_left") {
      pids_.erase(line.pid.value_or(0));
      if (pids_.empty()) {
        finish(now);
      }
    }
  }

  void infer_what_was_before(const TraceLine& line, u64 oldest_ns) {
    open_ = oldest_ns;
    if (line.event == "idle") {
      busy_ = said_busy_ = true;
      running_ns_ = oldest_ns;
    } else if (line.event == "start_decided" || line.event == "process_started" ||
               line.event == "lease_ended") {
      off_ns_ = oldest_ns;
    }
  }

  void set_busy(u64 now_ns, bool busy) {
    said_busy_ = true;
    busy_ = busy;
    if (off_ns_) {
      return;
    }
    if (busy) {
      running_ns_ = running_ns_.value_or(now_ns);
    } else if (running_ns_) {
      add(SliceKind::running, *running_ns_, now_ns);
      running_ns_.reset();
    }
  }

  // The time off the GPU, if there was one, is over.
  void leave_gpu_until_now(u64 now_ns) {
    if (!off_ns_) {
      return;
    }
    free_at(*off_ns_);
    add(SliceKind::stopped, *off_ns_, now_ns);
    off_ns_.reset();
    open_ = now_ns;
    running_ns_ = busy_ ? std::optional(now_ns) : std::nullopt;
  }

  // The time on the GPU, if there was one, ends at `end_ns`.
  void free_at(u64 end_ns) {
    if (running_ns_) {
      add(SliceKind::running, *running_ns_, end_ns);
      running_ns_.reset();
    }
    if (open_) {
      could_run_.emplace_back(*open_, end_ns);
    }
  }

  // Of an order whose decision is lost, the answer says how long ago it was.
  static void answer(std::optional<Order>& order, SliceKind kind, const TraceLine& line) {
    order = order.value_or(Order{kind, line.time_ns - static_cast<u64>(line.value), {}});
    order->answered_ns = line.time_ns;
  }

  // A newer order was answered: one that is older is over. If nobody answered it, nobody will, and
  // it lasted until the newer was decided.
  void end_if_older(std::optional<Order>& order, const Order& newer) {
    if (order && order->decided_ns <= newer.decided_ns) {
      finish_order(order, newer.decided_ns);
    }
  }

  // Orders of one kind follow each other: a track's slices must nest.
  void finish_order(std::optional<Order>& order, u64 now_ns) {
    if (order) {
      u64& done_ns = order->kind == SliceKind::stop ? stops_done_ns_ : starts_done_ns_;
      const u64 end_ns = order->answered_ns.value_or(now_ns);
      add(order->kind, std::min(std::max(order->decided_ns, done_ns), end_ns), end_ns);
      done_ns = end_ns;
      order.reset();
    }
  }

  void moment(SliceKind kind, u64 now_ns) { add(kind, now_ns, now_ns); }
  void add(SliceKind kind, u64 start_ns, u64 end_ns) {
    if (start_ns < end_ns || is_of_scheduler(kind)) {
      slices_.push_back({kind, job_, start_ns, end_ns});
    }
  }

  const u64 job_;
  std::vector<Slice>& slices_;
  std::vector<std::pair<u64, u64>> could_run_;  // shown if it never says whether it is busy
  std::set<pid_t> pids_;
  bool seen_ = false, busy_ = false, said_busy_ = false;
  std::optional<u64> open_;            // could run since, or since its last stop
  std::optional<u64> running_ns_;      // had work since
  std::optional<u64> off_ns_;          // could not run since
  std::optional<Order> stop_, start_;  // the last of each
  u64 stops_done_ns_ = 0, starts_done_ns_ = 0;
};

}  // namespace

const char* name(SliceKind kind) {
  switch (kind) {
    case SliceKind::running: return "running";
    case SliceKind::may_run: return "may run";
    case SliceKind::stopped: return "stopped";
    case SliceKind::stop: return "stop";
    case SliceKind::start: return "start";
    case SliceKind::failed: return "failed";
    case SliceKind::lease_ended: return "lease ended";
  }
  return "unknown";
}

TraceSlices slices_of(const std::vector<TraceLine>& lines, u64 end_ns) {
  TraceSlices result;
  std::map<u64, Follower> followers;
  for (const TraceLine& line : lines) {
    followers.try_emplace(line.job, line.job, result.slices)
        .first->second.take(line, lines.front().time_ns);
    result.class_of_job[line.job] = line.work_class;
    end_ns = std::max(end_ns, line.time_ns);
  }
  for (auto& [job, follower] : followers) {
    follower.finish(end_ns);
  }
  std::stable_sort(result.slices.begin(), result.slices.end(),
                   [](const Slice& a, const Slice& b) { return a.start_ns < b.start_ns; });
  return result;
}

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
