#include "report/comparisons.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.h"
#include "report/numbers.h"
#include "report/svg.h"

namespace gp::report {
namespace {

std::string queues_text(u32 queues) {
  return queues == 1 ? "1 queue" : fmt::format("{} queues", queues);
}

std::string name_of(const Scheme& scheme) {
  return scheme.queues == 0 ? scheme.mechanism
                            : fmt::format("{}, {}", scheme.mechanism, queues_text(scheme.queues));
}

// The slowest with as many queues: what the others are faster than.
double slowest_stop_us(const Results& results, u32 queues) {
  double slowest = 0;
  for (const Scheme& scheme : results.schemes) {
    if (scheme.queues == queues) {
      slowest = std::max(slowest, scheme.stop_p50_us.value_or(0));
    }
  }
  return slowest;
}

// What every scheme has, none included.
void add_load(const Scheme& scheme, std::vector<Cell>& cells) {
  cells.push_back(number_cell(format_ms(scheme.online_p50_ms)));
  cells.push_back(number_cell(format_ms(scheme.online_p99_ms)));
  cells.push_back(number_cell(format_factor(scheme.low_over_high)));
  cells.push_back(number_cell(format_number(scheme.offline_steps_per_s)));
}

// What the schemes are compared with: the same load and nobody who stops anything.
void add_baseline(Table& table, const Scheme& scheme) {
  std::vector<Cell> cells(7, cell("–", "muted"));
  cells.front() = cell("none: no gpreempt");
  add_load(scheme, cells);
  table.row(std::move(cells));
}

void add_row(Table& table, const Results& results, const Scheme& scheme) {
  std::string name = escape(scheme.mechanism);
  if (scheme.queues != 0) {
    name += fmt::format("<small>{}</small>", queues_text(scheme.queues));
  }
  if (!scheme.note.empty()) {
    name += fmt::format("<small>{}</small>", escape(scheme.note));
  }
  std::vector<Cell> cells = {{name, ""},
                             cell(fmt::format("{}", scheme.level)),
                             number_cell(format_us(scheme.stop_p50_us)),
                             number_cell(format_us(scheme.stop_p99_us)),
                             number_cell(format_factor(ratio(
                                 slowest_stop_us(results, scheme.queues), scheme.stop_p50_us))),
                             number_cell(format_us(scheme.start_p50_us)),
                             number_cell(format_us(scheme.start_p99_us))};
  add_load(scheme, cells);
  table.row(std::move(cells));
}

}  // namespace

std::string scheme_comparison(const Results& results) {
  if (results.schemes.empty()) {
    return "";
  }
  std::vector<Bar> stops;
  Table table({"Mechanism", "Level", "Stop p50", "Stop p99", "Faster by", "Start p50", "Start p99",
               "Online p50", "Online p99", "Low/high", "Offline steps/s"});
  for (const Scheme& scheme : results.schemes) {
    if (scheme.mechanism == kNoScheme) {
      add_baseline(table, scheme);
      continue;
    }
    if (!is_measured(scheme)) {
      table.remark(cell(name_of(scheme), "muted"),
                   scheme.note.empty() ? "not measured" : scheme.note);
      continue;
    }
    stops.push_back({name_of(scheme), *scheme.stop_p50_us, format_us(scheme.stop_p50_us),
                     fmt::format("level{}", scheme.level)});
    add_row(table, results, scheme);
  }
  return fmt::format(
      "<div class=\"charts\"><figure><figcaption>Time to stop (p50)</figcaption>{}</figure>"
      "<div class=\"prose\"><p><i class=\"key level1\"></i><b>Level 1</b> holds back work that was "
      "not started; what runs, runs to its end.</p><p><i class=\"key level2\"></i><b>Level 2</b> "
      "stops between kernels.</p><p><i class=\"key level3\"></i><b>Level 3</b> stops running "
      "kernels: their state is saved and restored.</p><p>“Faster by” compares with the slowest way "
      "to stop as many queues. “Low/high”: two like programs at once, one offline and one online, "
      "that together want more than the GPU has; p50 of the one over that of the other.</p>"
      "</div></div>\n{}",
      bars(stops, "Time to stop per mechanism"), table.finish());
}

namespace {

Cell count(const std::optional<u64>& unmaps) {
  return unmaps ? cell(fmt::format("{}", *unmaps)) : cell(kUnknown, "muted");
}

std::string name_of(const BatchWay& way) {
  return fmt::format("{}, one call for {}", way.mechanism, call_text(way));
}

void add_way(Table& table, const BatchWay& way, double slowest_us) {
  table.row({cell(name_of(way)), cell(fmt::format("{}", way.calls)),
             number_cell(format_us(way.stop_p50_us)), number_cell(format_us(way.stop_p99_us)),
             number_cell(format_factor(ratio(slowest_us, way.stop_p50_us))),
             number_cell(format_us(way.start_p50_us)), number_cell(format_us(way.start_p99_us)),
             count(way.stop_unmaps), count(way.start_unmaps)});
}

}  // namespace

double slowest_stop_us(const Batching& batching) {
  double slowest = 0;
  for (const BatchWay& way : batching.ways) {
    slowest = std::max(slowest, way.stop_p50_us.value_or(0));
  }
  return slowest;
}

std::string call_text(const BatchWay& way) {
  if (way.call_for.empty() || way.call_for == kOneCall) {
    return way.call_for.empty() ? "" : "all queues";
  }
  return fmt::format("each {}", way.call_for);
}

std::string batching_comparison(const Results& results) {
  if (!results.batching) {
    return "";
  }
  const Batching& batching = *results.batching;
  const double slowest_us = slowest_stop_us(batching);
  Table table({"Calls", "Number", "Stop p50", "Stop p99", "Faster by", "Start p50", "Start p99",
               "Unmaps to stop", "Unmaps to start"});
  std::vector<Bar> stops;
  for (const BatchWay& way : batching.ways) {
    if (way.stop_p50_us.value_or(0) <= 0) {
      table.remark(cell(way.mechanism, "muted"), way.note.empty() ? "not measured" : way.note);
      continue;
    }
    stops.push_back({name_of(way), *way.stop_p50_us, format_us(way.stop_p50_us),
                     way.call_for == kOneCall ? "level3" : "level1"});
    add_way(table, way, slowest_us);
  }
  return fmt::format(
      "<h3>One by one, or all at once</h3>\n<div class=\"charts\"><figure><figcaption>Time to stop "
      "{} queues of {} processes (p50)</figcaption>{}</figure><div class=\"prose\"><p>Every call "
      "of the driver takes all queues off the GPU, those of online work too, and puts back the "
      "ones that may run. One call for all interrupts the GPU once.</p></div></div>\n{}",
      batching.queues, batching.processes,
      bars(stops, "Time to stop the same queues by many calls and by few"), table.finish());
}

std::string faster_text(const Reservation& reservation, const ReservedRun& run) {
  return format_factor(ratio(reservation.runs.front().online_p99_ms, run.online_p99_ms));
}

std::string reservation_comparison(const Results& results) {
  if (!results.reservation) {
    return "";
  }
  const Reservation& reservation = *results.reservation;
  Table table({"Reserved slots", "Online p50", "Online p99", "p99 faster by", "Slots in use"});
  for (const ReservedRun& run : reservation.runs) {
    table.row({cell(run.reserved_slots == 0 ? "none" : fmt::format("{}", run.reserved_slots)),
               number_cell(format_ms(run.online_p50_ms)), number_cell(format_ms(run.online_p99_ms)),
               number_cell(faster_text(reservation, run)),
               number_cell(format_percent(run.slots_used))});
  }
  if (!reservation.note.empty()) {
    table.remark(cell("not measured", "muted"), reservation.note);
  }
  return fmt::format(
      "<h3>Slots kept for online work</h3>\n<p>Online beside {} queues on {} slots; nobody is "
      "stopped.</p>\n{}",
      reservation.queues, reservation.slots, table.finish());
}

std::string linger_comparison(const Results& results) {
  if (results.lingers.empty()) {
    return "";
  }
  Table table({"Stops outlast online work", "Request p50", "Slowest", "Stops per request",
               "Offline keeps"});
  for (const LingerRun& run : results.lingers) {
    table.row({cell(run.linger + (run.best_fixed ? " (the best fixed)" : "")),
               number_cell(format_ms(run.online_p50_ms)), number_cell(format_ms(run.online_max_ms)),
               number_cell(run.stops_per_request ? fmt::format("{:.1f}", *run.stops_per_request)
                                                 : kUnknown),
               number_cell(format_percent(run.offline_kept))});
  }
  return fmt::format(
      "<h3>How long a stop outlasts the work it was for</h3>\n<p>The same requests beside the same "
      "job. Where it is never over, offline work is there and stopped all the time: less than that "
      "no scheduler can take.</p>\n{}",
      table.finish());
}

std::string tier_table(const Results& results) {
  const std::vector<Tier> tiers = hardware_tiers(results);
  if (tiers.empty()) {
    return "";
  }
  const bool emulated = results.environment.virtual_gpu;
  Table table({"What", "Tiers", emulated ? "Emulated" : "Measured", "Reached"});
  for (const Tier& tier : tiers) {
    const auto best = reached(tier);
    table.row(
        {cell(tier.what), cell(limits_text(tier)),
         tier.value ? cell(fmt::format("{} {}", format_short(*tier.value), tier.unit))
                    : cell(kUnknown, "muted"),
         emulated || !tier.value ? cell("–", "muted") : cell(best ? format_short(*best) : "none")});
  }
  return fmt::format(
      "<h3>Tiers for hardware runs</h3>\n{}{}",
      emulated ? "<p>These numbers are an emulator’s: they are not judged.</p>\n" : "",
      table.finish());
}

namespace {

const BatchWay* one_call(const Results& results) {
  if (!results.batching) {
    return nullptr;
  }
  const auto& ways = results.batching->ways;
  const auto found = std::find_if(ways.begin(), ways.end(),
                                  [](const BatchWay& way) { return way.call_for == kOneCall; });
  return found == ways.end() ? nullptr : &*found;
}

std::optional<double> online_ms(const Results& results) {
  for (const Scheme& scheme : results.schemes) {
    if (scheme.mechanism == "kernel") {
      return scheme.online_p99_ms;
    }
  }
  return std::nullopt;
}

// With slots kept free for online: there may be less of them in use.
std::optional<double> slots_used_percent(const Results& results) {
  std::optional<double> percent;
  if (results.reservation) {
    for (const ReservedRun& run : results.reservation->runs) {
      if (run.reserved_slots > 0 && run.slots_used) {
        percent = 100 * *run.slots_used;
      }
    }
  }
  return percent;
}

}  // namespace

std::vector<Tier> hardware_tiers(const Results& results) {
  if (!results.batching) {
    return {};
  }
  const BatchWay* way = one_call(results);
  const auto milliseconds = [&](std::optional<double> BatchWay::*us) {
    return way != nullptr && way->*us ? std::optional(*(way->*us) / 1000) : std::nullopt;
  };
  const auto unmaps =
      way == nullptr ? std::nullopt : std::optional<double>(way->stop_unmaps.value_or(way->calls));
  const std::string queues = fmt::format("{} queues", results.batching->queues);
  return {
      {fmt::format("unmap of {} by one call, p50", queues),
       "ms",
       {1, 0.5, 0.3},
       false,
       milliseconds(&BatchWay::stop_p50_us)},
      {fmt::format("remap of {} by one call, p50", queues),
       "ms",
       {1, 0.5, 0.3},
       false,
       milliseconds(&BatchWay::start_p50_us)},
      {fmt::format("{} as one: unmaps to stop them", queues), "", {2}, false, unmaps},
      {"online p99 beside offline, kernel", "ms", {15, 10, 5}, false, online_ms(results)},
      {"queue slots in use, some reserved", "%", {80}, true, slots_used_percent(results)},
  };
}

std::optional<double> reached(const Tier& tier) {
  std::optional<double> best;
  for (const double limit : tier.limits) {
    if (tier.value && (tier.at_least ? *tier.value > limit : *tier.value < limit)) {
      best = limit;
    }
  }
  return best;
}

std::string limits_text(const Tier& tier) {
  std::vector<std::string> limits;
  for (const double limit : tier.limits) {
    limits.push_back(format_short(limit));
  }
  return fmt::format("{} {}{}{}", tier.at_least ? ">" : "<", fmt::join(limits, " / "),
                     tier.unit.empty() ? "" : " ", tier.unit);
}

}  // namespace gp::report
