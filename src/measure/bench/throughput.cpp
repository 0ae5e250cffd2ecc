// What an offline job loses beyond the time in which online work really used the GPU.
#include <fmt/format.h>

#include <cmath>
#include <numeric>

#include "bench/criteria.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

struct Rate {
  double steps_per_s = 0;
  u64 preemptions = 0;
};

Result<double> steps_between(const demo::Training& training, u64 from_us, u64 to_us) {
  if (const auto rate = demo::steps_per_second(training, from_us, to_us)) {
    return *rate;
  }
  return Error{ERANGE, "the trainer made too few steps to tell its speed", "try --duration 60s"};
}

Result<double> alone(const Context& context, milliseconds duration) {
  demo::Child trainer = TRY(context.launcher.trainer({nullptr, "trainer", {}}));
  TRY(context.launcher.wait(duration, {&trainer}));
  return steps_between(TRY(context.launcher.trained(trainer)), 0, ~u64{0});
}

Result<Rate> beside(const Context& context, milliseconds duration, milliseconds interval) {
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", {}}));
  demo::Child server =
      TRY(context.launcher.server({&scheduler, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  const u64 preemptions = TRY(scheduler.preemptions_of("trainer"));
  const demo::Training training = TRY(context.launcher.trained(trainer));
  const u64 end_us = serving.start_us + static_cast<u64>(duration.count()) * 1000;
  return Rate{TRY(steps_between(training, serving.start_us, end_us)), preemptions};
}

// Seconds of the GPU for one request, alone.
Result<std::optional<double>> request_seconds(const Context& context) {
  demo::Child server = TRY(context.launcher.server({nullptr, "server", {"40", "40"}}));
  const demo::Serving serving = TRY(context.launcher.served(server));
  const auto p50_ms = demo::quantile(latencies_ms(serving), 0.5);
  return p50_ms ? std::optional(*p50_ms / 1000) : std::nullopt;
}

report::Criterion loss(const char* scenario, double limit, milliseconds interval, const Rate& rate,
                       double alone_rate, std::optional<double> request_s) {
  const double per_second = 1000.0 / static_cast<double>(interval.count());
  const double lost = 1 - rate.steps_per_s / alone_rate;
  const auto used = request_s ? std::optional(per_second * *request_s) : std::nullopt;
  auto criterion = at_most(
      scenario, fmt::format("offline loss beyond online's GPU time, {:.0f} requests/s", per_second),
      limit, "%", used ? std::optional(100 * (lost - *used)) : std::nullopt);
  criterion.note =
      fmt::format("{:.1f} % in all, {} used by online, {} stops", 100 * lost,
                  used ? fmt::format("{:.1f} %", 100 * *used) : report::kUnknown, rate.preemptions);
  return criterion;
}

struct Asked {
  milliseconds interval;
  double limit;  // percent
};

// Runs alone before and after: their difference is the noise.
Result<Outcome> measure(const Context& context, const char* scenario, milliseconds duration,
                        std::initializer_list<Asked> asked) {
  const std::optional<double> request_s = TRY(request_seconds(context));
  const double before = TRY(alone(context, duration));
  std::vector<Rate> rates;
  for (const Asked& each : asked) {
    rates.push_back(TRY(beside(context, duration, each.interval)));
  }
  const double after = TRY(alone(context, duration)), mean = (before + after) / 2;
  Outcome outcome;
  for (std::size_t i = 0; i < rates.size(); ++i) {
    const Asked& each = asked.begin()[i];
    auto criterion = loss(scenario, each.limit, each.interval, rates[i], mean, request_s);
    criterion.noise = 100 * std::abs(before - after) / mean;
    outcome.criteria.push_back(std::move(criterion));
  }
  return outcome;
}

}  // namespace

Result<Outcome> run_throughput(const Context& context) {
  return measure(context, "throughput", context.lasting(10s, 60s), {{500ms, 5}});
}

// Requests every 10 ms leave offline work almost nothing: reported, whatever it is.
Result<Outcome> run_frequent(const Context& context) {
  return measure(context, "frequent", context.lasting(5s, 600s), {{100ms, 10}, {10ms, 100}});
}

}  // namespace gp::bench
