#include "cli/bench_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <sstream>

#include "base/text_table.h"
#include "report/comparisons.h"
#include "report/numbers.h"
#include "report/verdict.h"

namespace gp::cli {
namespace {

using report::BatchWay;

std::string value_text(const report::Criterion& criterion) {
  return criterion.value ? fmt::format("{:.4g} {}", *criterion.value, criterion.unit) : "N/A";
}

// What nothing is known of.
void leave_out_empty(std::vector<Column>& columns, std::vector<Row>& rows) {
  for (std::size_t i = columns.size(); i-- > 0;) {
    const bool is_empty = std::ranges::all_of(
        rows, [&](const Row& row) { return row[i].empty() || row[i] == report::kUnknown; });
    if (is_empty) {
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(i));
      for (Row& row : rows) {
        row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }
}

void add_criteria(const std::vector<report::Criterion>& criteria, std::string& out) {
  std::vector<Row> rows;
  for (const report::Criterion& each : criteria) {
    rows.push_back({shown_as(verdict_of(each)), each.scenario, each.what, value_text(each),
                    fmt::format("{} {:.4g}", each.at_least ? ">=" : "<=", each.limit),
                    each.noise ? fmt::format("{:.3g}", *each.noise) : ""});
  }
  std::vector<Column> columns = {
      {""}, {"SCENARIO"}, {"WHAT"}, {"MEASURED", true}, {"ASKED", true}, {"NOISE", true}};
  leave_out_empty(columns, rows);
  const std::string text = layout(columns, rows);
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  fmt::format_to(std::back_inserter(out), "{}\n", line);
  for (const report::Criterion& each : criteria) {
    std::getline(lines, line);
    fmt::format_to(std::back_inserter(out), "{}\n", line);
    if (report::is_inconclusive(each)) {
      fmt::format_to(std::back_inserter(out), "          other programs took {}\n",
                     report::others_text(*each.others));
    }
    if (!each.note.empty()) {
      fmt::format_to(std::back_inserter(out), "          {}\n", each.note);
    }
  }
}

std::string number(const std::optional<double>& value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : report::kUnknown;
}

// Sentences, which no column has room for.
template <class Measured>
void add_notes(const std::vector<Measured>& all, std::string& out) {
  for (const Measured& each : all) {
    if (!each.note.empty()) {
      fmt::format_to(std::back_inserter(out), "  {}: {}\n", each.mechanism, printable(each.note));
    }
  }
  fmt::format_to(std::back_inserter(out), "\n");
}

void add_schemes(const std::vector<report::Scheme>& schemes, std::string& out) {
  if (schemes.empty()) {
    return;
  }
  std::vector<Row> rows;
  for (const report::Scheme& each : schemes) {
    rows.push_back({each.mechanism, each.level > 0 ? std::to_string(each.level) : "",
                    number(each.stop_p50_us, 0), number(each.start_p50_us, 0),
                    number(each.online_p50_ms, 2), number(each.online_p99_ms, 2),
                    number(each.low_over_high, 2), number(each.offline_steps_per_s, 2)});
  }
  std::vector<Column> columns = {{"MECHANISM"},      {"LEVEL", true},         {"STOP US", true},
                                 {"START US", true}, {"ONLINE P50 MS", true}, {"P99 MS", true},
                                 {"LOW/HIGH", true}, {"STEPS/S", true}};
  leave_out_empty(columns, rows);
  fmt::format_to(std::back_inserter(out), "{}", layout(columns, rows));
  add_notes(schemes, out);
}

std::string count(const std::optional<u64>& unmaps) {
  return unmaps ? std::to_string(*unmaps) : report::kUnknown;
}

void add_batching(const report::Batching& batching, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{} queues of {} processes, stopped and started\n",
                 batching.queues, batching.processes);
  const double slowest_us = report::slowest_stop_us(batching);
  std::vector<Row> rows;
  for (const BatchWay& way : batching.ways) {
    rows.push_back({way.mechanism, report::call_text(way), std::to_string(way.calls),
                    number(way.stop_p50_us, 0), number(way.stop_p99_us, 0),
                    report::format_factor(report::ratio(slowest_us, way.stop_p50_us)),
                    number(way.start_p50_us, 0), number(way.start_p99_us, 0),
                    count(way.stop_unmaps), count(way.start_unmaps)});
  }
  fmt::format_to(std::back_inserter(out), "{}",
                 layout({{"MECHANISM"},
                         {"ONE CALL FOR"},
                         {"CALLS", true},
                         {"STOP US", true},
                         {"P99", true},
                         {"FASTER", true},
                         {"START US", true},
                         {"P99", true},
                         {"UNMAPS", true},
                         {"TO START", true}},
                        rows));
  add_notes(batching.ways, out);
}

void add_reservation(const report::Reservation& reservation, std::string& out) {
  fmt::format_to(std::back_inserter(out), "online beside {} queues on {} slots, nobody stopped\n",
                 reservation.queues, reservation.slots);
  std::vector<Row> rows;
  for (const report::ReservedRun& run : reservation.runs) {
    rows.push_back({std::to_string(run.reserved_slots), number(run.online_p50_ms, 2),
                    number(run.online_p99_ms, 2), report::faster_text(reservation, run),
                    report::format_percent(run.slots_used)});
  }
  if (!reservation.note.empty()) {
    fmt::format_to(std::back_inserter(out), "  {}\n", reservation.note);
  }
  fmt::format_to(std::back_inserter(out), "{}\n",
                 layout({{"RESERVED SLOTS", true},
                         {"ONLINE P50 MS", true},
                         {"P99 MS", true},
                         {"P99 FASTER", true},
                         {"SLOTS USED", true}},
                        rows));
}

void add_lingers(const std::vector<report::LingerRun>& lingers, std::string& out) {
  if (lingers.empty()) {
    return;
  }
  std::vector<Row> rows;
  for (const report::LingerRun& run : lingers) {
    rows.push_back({run.linger, number(run.online_p50_ms, 1), number(run.online_max_ms, 1),
                    number(run.stops_per_request, 2), report::format_percent(run.offline_kept),
                    run.best_fixed ? "the best fixed" : ""});
  }
  fmt::format_to(std::back_inserter(out), "{}\n",
                 layout({{"STOPS OUTLAST ONLINE WORK"},
                         {"ONLINE P50 MS", true},
                         {"MAX MS", true},
                         {"STOPS/REQUEST", true},
                         {"OFFLINE KEEPS", true},
                         {""}},
                        rows));
}

void add_tiers(const report::Results& results, std::string& out) {
  const std::vector<report::Tier> tiers = report::hardware_tiers(results);
  if (tiers.empty()) {
    return;
  }
  const bool emulated = results.environment.virtual_gpu;
  std::vector<Row> rows;
  for (const report::Tier& tier : tiers) {
    const auto best = report::reached(tier);
    const char* const failed = tier.value ? "none" : "";
    rows.push_back({tier.what, report::limits_text(tier),
                    tier.value ? fmt::format("{:.3g} {}", *tier.value, tier.unit) : "N/A",
                    emulated ? "emulated"
                    : best   ? report::format_short(*best)
                             : failed});
  }
  fmt::format_to(
      std::back_inserter(out), "tiers for hardware runs{}\n{}\n",
      emulated ? "; measured is an emulator's time, not to be judged by them" : "",
      layout({{"WHAT"}, {"TIERS"}, {"MEASURED", true}, {emulated ? "" : "REACHED"}}, rows));
}

}  // namespace

std::string bench_text(const report::Results& results) {
  std::string out;
  add_schemes(results.schemes, out);
  if (results.batching) {
    add_batching(*results.batching, out);
  }
  if (results.reservation) {
    add_reservation(*results.reservation, out);
  }
  add_lingers(results.lingers, out);
  add_tiers(results, out);
  add_criteria(results.criteria, out);
  return out;
}

}  // namespace gp::cli
