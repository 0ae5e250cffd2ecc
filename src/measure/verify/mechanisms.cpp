// Every mechanism of level 3 that may work here: stop and start in the middle of kernels, one
// queue, many, several processes.
#include "bench/mechanisms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "demo/summary.h"
#include "verify/judge.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

constexpr char kMechanismsStep[] = "mechanisms";

struct Case {
  const bench::MeasuredMechanism& mechanism;
  unsigned processes, queues;

  std::string name() const {
    return fmt::format("{}, {} process{}, {} queue{}", mechanism.name, processes,
                       processes == 1 ? "" : "es", processes * queues,
                       processes * queues == 1 ? "" : "s");
  }
};

struct Measured {
  Stops stops;
  std::optional<Gap> gap;
};

Result<Measured> measure(const Setting& setting, const Case& each) {
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, each.mechanism.name));
  std::vector<Load> loads = TRY(start_loads(setting,
                                            {.name = "offline",
                                             .scheduler = &scheduler,
                                             .agent = each.mechanism.agent,
                                             .queues = each.queues,
                                             .environment = each.mechanism.environment},
                                            each.processes));
  const bool alone = each.processes * each.queues == 1;
  const StopPlan plan{alone ? one_group_per_cu(setting) : small_share(setting), 20,
                      setting.extent.stops};
  Measured measured;
  measured.stops = TRY(stop_and_start(setting, scheduler, loads, plan));
  if (alone) {
    // On a busy machine waves may have ended before the stop came: then a longer kernel shows it.
    for (const double kernel_ms : {200, 600, 1800}) {
      measured.gap = TRY(see_the_gap(setting, scheduler, loads.front(), plan.shape, kernel_ms));
      if (measured.gap->shows()) {
        break;
      }
    }
  }
  return measured;
}

void judge(const Case& each, const Measured& measured, report::Results& results) {
  const Stops& stops = measured.stops;
  const std::string name = each.name();
  // Where one driver call stops them all, it is judged by the numbers for that.
  const bool batch = each.mechanism.mechanism == Mechanism::kernel;
  const std::span<const double> limits =
      batch ? std::span<const double>(kBatchMs) : std::span<const double>(kStopMs);
  results.criteria.push_back(
      tiered(kMechanismsStep, "stop by " + name, limits, stops.stop_ms, 0.99));
  results.criteria.back().note += parts_text(stops);
  results.criteria.push_back(
      tiered(kMechanismsStep, "start by " + name, limits, stops.start_ms, 0.99));
  results.criteria.push_back(
      at_most(kMechanismsStep, fmt::format("{}: wrong results", name), 0, "", stops.wrong_lanes));
  results.criteria.back().note =
      fmt::format("{} kernels, stopped {} times, {} times in the middle of one", stops.kernels,
                  stops.stop_ms.size(), stops.mid_kernel);
  results.criteria.push_back(at_most(kMechanismsStep,
                                     fmt::format("{}: stops in which a kernel went on", name), 0,
                                     "", stops.moved));
  if (measured.gap) {
    const Gap& gap = *measured.gap;
    results.criteria.push_back(
        holds(kMechanismsStep, fmt::format("{}: the kernel's own clock shows the stop", name),
              gap.shows(),
              fmt::format("stopped for {:.2f} ms; every wave stood still for {:.2f} ms or longer",
                          gap.held_ms, gap.least_gap_ms)));
  }
}

report::Scheme scheme_of(const Case& each, const Stops& stops) {
  const auto us = [](const std::vector<double>& ms, double q) {
    const auto value = demo::quantile(ms, q);
    return value ? std::optional(1000 * *value) : std::nullopt;
  };
  report::Scheme scheme;
  scheme.mechanism = each.mechanism.name;
  scheme.level = each.mechanism.level;
  scheme.queues = each.queues;
  scheme.stop_p50_us = us(stops.stop_ms, 0.5);
  scheme.stop_p99_us = us(stops.stop_ms, 0.99);
  scheme.start_p50_us = us(stops.start_ms, 0.5);
  scheme.start_p99_us = us(stops.start_ms, 0.99);
  return scheme;
}

// False if the other cases of the mechanism are not worth trying.
Result<bool> try_case(Setting& setting, const Case& each, report::Results& results) {
  setting.progress.update(each.name());
  const auto measured = measure(setting, each);
  if (measured) {
    judge(each, *measured, results);
    if (each.processes * each.queues == 1) {
      setting.working.emplace_back(each.mechanism.name);
      results.schemes.push_back(scheme_of(each, measured->stops));
    }
    return true;
  }
  const Error& error = measured.error();
  if (error.code == EINTR) {
    return error;
  }
  // What has stopped one queue is possible, but maybe not for two processes: MI50 and the like have
  // one debugger at a time.
  const bool has_worked = std::ranges::count(setting.working, each.mechanism.name) != 0;
  if (error.code == ENOTSUP && (!has_worked || each.processes > 1)) {
    results.criteria.push_back(unjudged(
        report::kNotPossible, kMechanismsStep, each.name(),
        fmt::format("{}. It needs {}", error.what, info_of(each.mechanism.mechanism).needs)));
    return false;
  }
  results.criteria.push_back(
      holds(kMechanismsStep, each.name() + ": works", false, error.message()));
  return true;
}

}  // namespace

Status find_working(Setting& setting) {
  const std::vector<bench::MeasuredMechanism> all = bench::measured_mechanisms();
  report::Results ignored;
  const unsigned stops = std::exchange(setting.extent.stops, 1);
  Result<bool> tried = false;
  for (auto mechanism = all.rbegin();
       mechanism != all.rend() && mechanism->level == 3 && tried && setting.working.empty();
       ++mechanism) {
    tried = try_case(setting, {*mechanism, 1, 1}, ignored);
  }
  setting.extent.stops = stops;
  return tried ? ok() : Status(tried.error());
}

Status run_mechanisms(Setting& setting, report::Results& results) {
  const std::vector<bench::MeasuredMechanism> all = bench::measured_mechanisms();  // the best last
  for (auto mechanism = all.rbegin(); mechanism != all.rend(); ++mechanism) {
    if (mechanism->level < 3) {
      continue;
    }
    for (const auto& [processes, queues] : {std::pair{1U, 1U}, std::pair{1U, setting.extent.queues},
                                            std::pair{setting.extent.processes, 1U}}) {
      if (!TRY(try_case(setting, {*mechanism, processes, queues}, results))) {
        break;
      }
    }
  }
  results.criteria.push_back(holds(kMechanismsStep, kCanStop, !setting.working.empty(),
                                   setting.working.empty()
                                       ? "no mechanism of level 3 works; the remarks above say why"
                                       : fmt::format("the best: {}", setting.working.front())));
  return ok();
}

}  // namespace gp::verify
