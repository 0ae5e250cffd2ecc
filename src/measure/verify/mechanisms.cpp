// Every mechanism of level 3 that may work here: stop and start in the middle of kernels, one
// queue, many, several processes.
#include "bench/mechanisms.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <span>
#include <utility>

#include "demo/summary.h"
#include "report/verdict.h"
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

// It stopped what it was to stop, when it was to, and nothing was lost.
bool is_exact(const Measured& measured) {
  return measured.stops.wrong_lanes == 0 && measured.stops.moved == 0 &&
         (!measured.gap || measured.gap->shows());
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

// What one mechanism has shown in all its cases.
struct Trial {
  bool stopped = false;  // one queue, at least
  bool exact = true;     // whatever it has stopped
};

// False if the other cases of the mechanism are not worth trying.
Result<bool> try_case(const Setting& setting, const Case& each, report::Results& results,
                      Trial& trial) {
  setting.progress.update(each.name());
  const auto measured = measure(setting, each);
  if (measured) {
    judge(each, *measured, results);
    trial.exact &= is_exact(*measured);
    if (each.processes * each.queues == 1) {
      trial.stopped = true;
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
  if (error.code == ENOTSUP && (!trial.stopped || each.processes > 1)) {
    results.criteria.push_back(unjudged(
        report::kNotPossible, kMechanismsStep, each.name(),
        fmt::format("{}. It needs {}", error.what, info_of(each.mechanism.mechanism).needs)));
    return false;
  }
  results.criteria.push_back(
      holds(kMechanismsStep, each.name() + ": works", false, error.message()));
  return true;
}

Result<Trial> try_cases(const Setting& setting, std::span<const Case> cases,
                        report::Results& results) {
  Trial trial;
  for (const Case& each : cases) {
    if (!TRY(try_case(setting, each, results, trial))) {
      break;
    }
  }
  return trial;
}

// The best mechanism that is exact is what gpreemptd will use: its times are judged, those of the
// others are there to be compared.
Status try_mechanism(Setting& setting, std::span<const Case> cases, report::Results& results) {
  const std::size_t before = results.criteria.size();
  const Result<Trial> trial = try_cases(setting, cases, results);
  const bool good = trial && trial->stopped && trial->exact;
  if (good) {
    setting.working.emplace_back(cases.front().mechanism.name);
  } else if (trial && !trial->exact) {
    setting.inexact.emplace_back(cases.front().mechanism.name);
  }
  if (!good || setting.working.size() > 1) {
    show_times(std::span(results.criteria).subspan(before));
  }
  return trial ? ok() : Status(trial.error());
}

// The best first.
std::vector<bench::MeasuredMechanism> mechanisms_of_level_3() {
  std::vector<bench::MeasuredMechanism> all = bench::measured_mechanisms();
  std::erase_if(all, [](const bench::MeasuredMechanism& each) { return each.level < 3; });
  std::ranges::reverse(all);
  return all;
}

report::Criterion can_stop(const Setting& setting) {
  const bool can = !setting.working.empty();
  return holds(kMechanismsStep, kCanStop, can,
               can ? fmt::format("the best: {}", setting.working.front())
                   : "no mechanism of level 3 works, and exactly; the remarks above say why");
}

}  // namespace

Status find_working(Setting& setting, report::Results& results) {
  setting.mechanisms_tried = true;
  const unsigned stops = std::exchange(setting.extent.stops, 1);
  Status tried = ok();
  for (const bench::MeasuredMechanism& mechanism : mechanisms_of_level_3()) {
    report::Results its;
    const Case alone[] = {{mechanism, 1, 1}};
    tried = try_mechanism(setting, alone, its);
    if (!tried || !setting.working.empty()) {
      break;
    }
    std::ranges::copy_if(its.criteria, std::back_inserter(results.criteria), report::is_missed);
  }
  setting.extent.stops = stops;
  if (tried && setting.working.empty()) {
    results.criteria.push_back(can_stop(setting));
  }
  return tried;
}

Status run_mechanisms(Setting& setting, report::Results& results) {
  setting.mechanisms_tried = true;
  const Extent& extent = setting.extent;
  for (const bench::MeasuredMechanism& mechanism : mechanisms_of_level_3()) {
    const Case cases[] = {
        {mechanism, 1, 1}, {mechanism, 1, extent.queues}, {mechanism, extent.processes, 1}};
    TRY(try_mechanism(setting, cases, results));
  }
  results.criteria.push_back(can_stop(setting));
  return ok();
}

}  // namespace gp::verify
