#include "report/batching.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/bars.h"
#include "report/format.h"
#include "report/html.h"
#include "report/table.h"
#include "report/tiers.h"

namespace gp::report {
namespace {

std::string us(double microseconds) { return format_ms(microseconds / 1000); }

Cell count(const std::optional<u64>& unmaps) {
  return unmaps ? cell(fmt::format("{}", *unmaps)) : cell(kUnknown, "muted");
}

std::string name_of(const BatchWay& way) {
  return fmt::format("{}, one call for {}", way.mechanism, call_text(way));
}

void add_way(Table& table, const BatchWay& way, double slowest_us) {
  table.row({cell(name_of(way)), cell(fmt::format("{}", way.calls)), cell(us(way.stop_p50_us)),
             cell(us(way.stop_p99_us)), cell(format_factor(slowest_us / way.stop_p50_us)),
             cell(us(way.start_p50_us)), cell(us(way.start_p99_us)), count(way.stop_unmaps),
             count(way.start_unmaps)});
}

}  // namespace

double slowest_stop_us(const Batching& batching) {
  double slowest = 0;
  for (const BatchWay& way : batching.ways) {
    slowest = std::max(slowest, way.stop_p50_us);
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
    if (way.stop_p50_us <= 0) {
      table.remark(cell(way.mechanism, "muted"), way.note.empty() ? "not measured" : way.note);
      continue;
    }
    stops.push_back({name_of(way), way.stop_p50_us, us(way.stop_p50_us),
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
  const double factor = reservation.runs.front().online_p99_ms / run.online_p99_ms;
  return std::isfinite(factor) && factor > 0 ? format_factor(factor) : kUnknown;
}

std::string reservation_comparison(const Results& results) {
  if (!results.reservation) {
    return "";
  }
  const Reservation& reservation = *results.reservation;
  Table table({"Reserved slots", "Online p50", "Online p99", "p99 faster by", "Slots in use"});
  for (const ReservedRun& run : reservation.runs) {
    table.row({cell(run.reserved_slots == 0 ? "none" : fmt::format("{}", run.reserved_slots)),
               cell(format_ms(run.online_p50_ms)), cell(format_ms(run.online_p99_ms)),
               cell(faster_text(reservation, run)), cell(format_percent(run.slots_used))});
  }
  if (!reservation.note.empty()) {
    table.remark(cell("not measured", "muted"), reservation.note);
  }
  return fmt::format(
      "<h3>Slots kept for online work</h3>\n<p>Online beside {} queues on {} slots; nobody is "
      "stopped.</p>\n{}",
      reservation.queues, reservation.slots, table.finish());
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

}  // namespace gp::report
