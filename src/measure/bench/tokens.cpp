// Requests of many bursts with a pause after each, as a language model answers token after token:
// what it costs to stop offline work for them, with the linger that the scheduler learns and with
// fixed ones (policy/linger.h).
#include <fmt/format.h>

#include <algorithm>

#include "bench/criteria.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kInterval = 300ms;  // between requests; they take about a third of it
constexpr double kP50Limit = 1.05, kSlowestLimit = 1.2, kKeptLimit = 0.9;

struct Measured {
  std::optional<double> p50_ms, slowest_ms;
  std::optional<double> steps_per_s;
  u64 stops = 0;
};

Words requests_for(const Context& context) {
  Words words = requests_every(kInterval, context.lasting(9s, 30s));
  words.insert(words.end(), {"--tokens", "16", "--pause-us", "3000"});
  if (context.virtual_gpu) {
    words.insert(words.end(), {"--layers", "16"});
  }
  return words;
}

Measured measured(const demo::Serving& serving) {
  const std::vector<double> all = latencies_ms(serving);
  return {demo::quantile(all, 0.5), demo::quantile(all, 1), std::nullopt, 0};
}

Result<Measured> online_alone(const Context& context) {
  demo::Child server = TRY(context.launcher.server({nullptr, "server", requests_for(context)}));
  return measured(TRY(context.launcher.served(server)));
}

Result<double> offline_alone(const Context& context) {
  demo::Child trainer = TRY(context.launcher.trainer({nullptr, "trainer", {}}));
  TRY(context.launcher.wait(context.lasting(9s, 30s), {&trainer}));
  const demo::Training training = TRY(context.launcher.trained(trainer));
  if (const auto rate = demo::steps_per_second(training, 0, ~u64{0})) {
    return *rate;
  }
  return Error{ERANGE, "the trainer made too few steps to tell its speed", "try --duration 60s"};
}

Result<Measured> beside(const Context& context, const std::string& parameters) {
  const demo::Scheduler scheduler = TRY(context.launcher.daemon("[parameters]\n" + parameters));
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", {}}));
  demo::Child server = TRY(context.launcher.server({&scheduler, "server", requests_for(context)}));
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  Measured result = measured(serving);
  result.stops = TRY(scheduler.preemptions_of("trainer"));
  const demo::Training training = TRY(context.launcher.trained(trainer));
  result.steps_per_s = demo::steps_per_second(training, serving.start_us, serving.end_us());
  return result;
}

// Of the time outside of requests, the part in which offline work ran.
std::optional<double> kept(const Measured& with, const Measured& alone, double offline_rate) {
  if (!with.steps_per_s || !alone.p50_ms) {
    return std::nullopt;
  }
  const double left = 1 - *alone.p50_ms / static_cast<double>(kInterval.count());
  return report::ratio(*with.steps_per_s / offline_rate, left);
}

std::string described(const Measured& with, const Measured& alone, double offline_rate) {
  const auto part = kept(with, alone, offline_rate);
  return fmt::format("p50 {}, slowest {}, {} stops, offline keeps {}",
                     report::format_factor(report::ratio(with.p50_ms, alone.p50_ms)),
                     report::format_factor(report::ratio(with.slowest_ms, alone.slowest_ms)),
                     with.stops, part ? fmt::format("{:.0f} %", 100 * *part) : report::kUnknown);
}

}  // namespace

Result<Outcome> run_tokens(const Context& context) {
  const double offline_rate = TRY(offline_alone(context));
  const Measured before = TRY(online_alone(context));
  const Measured learnt = TRY(beside(context, ""));
  std::string fixed_ones;
  for (const char* linger : {"0ms", "2ms", "10ms"}) {
    const Measured fixed = TRY(beside(
        context,
        fmt::format("learn_gaps = false\nlinger_min = \"{0}\"\nlinger_max = \"{0}\"\n", linger)));
    fixed_ones += fmt::format("; fixed at {}: {}", linger, described(fixed, before, offline_rate));
  }
  const Measured after = TRY(online_alone(context));
  // Against the mean of the runs before and after: what drifts, drifts out.
  Measured alone = before;
  alone.p50_ms = mean(before.p50_ms, after.p50_ms);
  alone.slowest_ms = mean(before.slowest_ms, after.slowest_ms);

  Outcome outcome;
  const auto add = [&](const char* what, double limit, std::optional<double> Measured::*q) {
    auto criterion = at_most("tokens", what, limit, "x", report::ratio(learnt.*q, alone.*q));
    criterion.noise = apart(before.*q, after.*q);
    criterion.limit = std::max(limit, criterion.noise.value_or(0));
    criterion.note = fmt::format("alone {}", report::format_ms(alone.*q));
    outcome.criteria.push_back(std::move(criterion));
  };
  add("p50 of requests of 16 tokens, over alone", kP50Limit, &Measured::p50_ms);
  add("slowest of them, over alone", kSlowestLimit, &Measured::slowest_ms);
  const auto part = kept(learnt, alone, offline_rate);
  auto keeps = at_least("tokens", "of the time between requests offline keeps", 100 * kKeptLimit,
                        "%", part ? std::optional(100 * *part) : std::nullopt);
  keeps.note = fmt::format("{} stops{}", learnt.stops, fixed_ones);
  outcome.criteria.push_back(std::move(keeps));
  return outcome;
}

}  // namespace gp::bench
