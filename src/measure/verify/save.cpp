// What a stop costs, against what there is to save: registers, LDS, waves.
#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "bench/held_job.h"
#include "demo/summary.h"
#include "discover/discover.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

constexpr double kSavedKernelMs = 20;

// Stopped once more, and what the driver says was saved. Only debugfs tells; unknown without it.
Result<std::optional<u64>> saved_bytes(const Setting& setting, const demo::Scheduler& scheduler,
                                       Load& load, const KernelShape& shape) {
  TRY(load.begin_offline(shape, kSavedKernelMs));
  bench::HeldJob job = TRY(bench::HeldJob::of(scheduler, setting.waiter, load.child(), kLease));
  TRY(job.stop());
  const auto snapshot = discover::take_snapshot(system_os(), {}, {}, {});
  TRY(job.start());
  TRY(load.end_offline());
  std::optional<u64> most;
  if (snapshot) {
    for (const discover::Found& found : find(*snapshot, {.pid = load.child().pid()})) {
      most = std::max(most, found.queue->saved_bytes);
    }
  }
  return most;
}

std::string saved_text(const Setting& setting, const std::optional<u64>& bytes,
                       const std::vector<double>& stop_ms) {
  std::string text;
  if (setting.node.save_area_bytes) {
    text += fmt::format("; the driver reserves {} per queue",
                        format_size(*setting.node.save_area_bytes));
  }
  const auto ms = demo::quantile(stop_ms, 0.5);
  if (!bytes || *bytes == 0 || !ms) {
    return text + "; what was saved is not known: debugfs cannot be read";
  }
  const double gb = static_cast<double>(*bytes) / 1e9;
  text += fmt::format("; saved {}, {:.2f} GB/s of a stop's p50", format_size(*bytes),
                      gb / (*ms / 1000));
  if (setting.fill_gb_per_s > 0) {
    const double floor_ms = 1000 * gb / setting.fill_gb_per_s;
    text += fmt::format("; memory alone would take {}: p50 is {:.3g} times that",
                        report::format_ms(floor_ms), *ms / floor_ms);
  }
  return text;
}

Status measure_shape(const Setting& setting, const KernelShape& shape, report::Results& results) {
  const std::string& mechanism = setting.working.front();
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, mechanism));
  std::vector<Load> loads =
      TRY(start_loads(setting, offline_for_best(setting, scheduler, "saved"), 1));
  const Stops stops =
      TRY(stop_and_start(setting, scheduler, loads, {shape, kSavedKernelMs, fewer_stops(setting)}));
  const std::optional<u64> bytes = TRY(saved_bytes(setting, scheduler, loads.front(), shape));
  const std::string which =
      fmt::format("by {}, kernel '{}', {} waves per CU", mechanism, shape.kernel,
                  4 * shape.groups / std::max(1U, setting.compute_units));
  auto& criteria = results.criteria;
  criteria.push_back(tiered("save", "stop " + which, kStopMs, stops.stop_ms, 0.99));
  criteria.back().note += saved_text(setting, bytes, stops.stop_ms);
  criteria.push_back(tiered("save", "start " + which, kStopMs, stops.start_ms, 0.99));
  criteria.push_back(
      at_most("save", fmt::format("{}: wrong results", which), 0, "", stops.wrong_lanes));
  criteria.push_back(
      at_most("save", fmt::format("{}: stops in which it went on", which), 0, "", stops.moved));
  return ok();
}

}  // namespace

Status run_save(Setting& setting, report::Results& results) {
  for (const KernelShape& shape : shapes_to_save(setting)) {
    TRY(measure_shape(setting, shape, results));
  }
  return ok();
}

}  // namespace gp::verify
