// Stops and starts by hand: each mechanism, one queue and many.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "bench/criteria.h"
#include "bench/held_job.h"
#include "bench/mechanisms.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kLimitMs = 5;

struct Times {  // milliseconds
  std::vector<double> stop, start, own;
};

std::string spread_text(const std::vector<double>& values) {
  if (values.empty()) {
    return report::kUnknown;
  }
  const double count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return fmt::format(
      "mean {:.3f}, stddev {:.3f}, p50 {:.3f}, p95 {:.3f}, p99 {:.3f}, max {:.3f} ms", mean,
      std::sqrt(squares / count), *demo::quantile(values, 0.5), *demo::quantile(values, 0.95),
      *demo::quantile(values, 0.99), *demo::quantile(values, 1));
}

Result<Times> measure(const Context& context, const MeasuredMechanism& mechanism, unsigned queues) {
  const int rounds = context.extent == Extent::full ? 1000 : 100;
  const demo::Scheduler scheduler = TRY(context.launcher.daemon_with(mechanism));
  auto environment = mechanism.environment;
  environment["GPU_MAX_HW_QUEUES"] = std::to_string(queues);
  demo::Child trainer = TRY(context.launcher.trainer(
      {&scheduler, "trainer", trainer_with(queues), environment, mechanism.agent}));
  HeldJob job = TRY(HeldJob::of(scheduler, context.launcher.waiter(), trainer));
  Times times;
  for (int round = 0; round < rounds; ++round) {
    const double stop_us = TRY(job.stop());
    const JobView stopped = TRY(job.view());
    TRY(job.start());
    const JobView running = TRY(job.view());
    times.stop.push_back(stop_us / 1000);
    if (running.last_start_us && stopped.last_stop_us) {
      times.start.push_back(*running.last_start_us / 1000);
      times.own.push_back(std::max(0.0, stop_us - *stopped.last_stop_us) / 1000);
    }
  }
  TRY(context.launcher.trained(trainer));
  return times;
}

void judge(const MeasuredMechanism& mechanism, unsigned queues, const Result<Times>& times,
           Outcome& outcome) {
  const std::string name =
      fmt::format("{}, {} queue{}", mechanism.name, queues, queues == 1 ? "" : "s");
  if (!times) {
    auto failed = at_most("latency", fmt::format("stop by {}, p50", name), kLimitMs, "ms", {});
    failed.note = times.error().message();
    outcome.criteria.push_back(std::move(failed));
    return;
  }
  const auto add = [&](const char* what, const std::vector<double>& values) {
    auto criterion = at_most("latency", fmt::format("{} by {}, p50", what, name), kLimitMs, "ms",
                             demo::quantile(values, 0.5));
    criterion.note = spread_text(values);
    outcome.criteria.push_back(std::move(criterion));
  };
  add("stop", times->stop);
  add("start", times->start);
  outcome.criteria.end()[-2].note += fmt::format(
      "; besides the mechanism {} (p50)", report::format_ms(demo::quantile(times->own, 0.5)));
}

}  // namespace

Result<Outcome> run_latency(const Context& context) {
  Outcome outcome;
  for (const MeasuredMechanism& mechanism : measured_mechanisms()) {
    for (const unsigned queues : {1U, 10U, 64U}) {
      const auto times = measure(context, mechanism, queues);
      if (!times && times.error().code == EINTR) {
        return times.error();
      }
      judge(mechanism, queues, times, outcome);
    }
  }
  return outcome;
}

}  // namespace gp::bench
