// The same load under every mechanism, and under none.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/held_job.h"
#include "bench/mechanisms.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kStops = 20;        // by hand, besides those that requests cause
constexpr double kAdvantage = 3;  // what level 3 should give; level 1 gave 1.07 on hardware

Status stop_by_hand(const Context& context, const demo::Scheduler& scheduler, demo::Child& trainer,
                    report::Scheme& scheme) {
  HeldJob job = TRY(HeldJob::of(scheduler, context.actors.stage(), trainer));
  std::vector<double> stops, starts;
  for (int i = 0; i < kStops; ++i) {
    TRY(job.stop());
    stops.push_back(TRY(job.view()).last_stop_us);
    TRY(job.start());
    starts.push_back(TRY(job.view()).last_start_us);
  }
  scheme.stop_p50_us = *demo::quantile(stops, 0.5);
  scheme.stop_p99_us = *demo::quantile(stops, 0.99);
  scheme.start_p50_us = *demo::quantile(starts, 0.5);
  scheme.start_p99_us = *demo::quantile(starts, 0.99);
  return ok();
}

Result<report::Scheme> measure(const Context& context, const Mechanism* mechanism) {
  const milliseconds interval = 100ms, duration = context.lasting(4s, 60s);
  report::Scheme scheme;
  scheme.mechanism = mechanism != nullptr ? mechanism->name : report::kNoScheme;
  scheme.level = mechanism != nullptr ? mechanism->level : 0;
  std::optional<demo::Scheduler> scheduler;
  if (mechanism != nullptr) {
    scheduler.emplace(TRY(context.actors.daemon(only(*mechanism))));
  }
  const demo::Scheduler* with = scheduler ? &*scheduler : nullptr;
  const auto environment =
      mechanism != nullptr ? mechanism->environment : std::map<std::string, std::string>{};
  demo::Child trainer = TRY(context.actors.trainer(
      {with, "trainer", {}, environment, mechanism == nullptr || mechanism->agent}));
  demo::Child server =
      TRY(context.actors.server({with, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.actors.served(server, {&trainer}));
  if (with != nullptr) {
    TRY(stop_by_hand(context, *with, trainer, scheme));
    const DaemonView view = TRY(look_at(*with));
    if (const JobView* job = view.job_of(trainer.pid()); job != nullptr && job->preemptions == 0) {
      scheme.note = "it never stopped the job";
    }
  }
  const demo::Training training = TRY(context.actors.trained(trainer));
  const std::vector<double> latencies = latencies_ms(serving);
  scheme.online_p50_ms = demo::quantile(latencies, 0.5).value_or(0);
  scheme.online_p99_ms = demo::quantile(latencies, 0.99).value_or(0);
  scheme.offline_steps_per_s =
      demo::steps_per_second(training, serving.start_us, serving.end_us()).value_or(0);
  return scheme;
}

}  // namespace

Result<Outcome> run_schemes(const Context& context) {
  Outcome outcome;
  const report::Scheme none = TRY(measure(context, nullptr));
  outcome.schemes.push_back(none);
  double best = 0;
  for (const Mechanism& mechanism : kMechanisms) {
    auto scheme = measure(context, &mechanism);
    if (!scheme && scheme.error().code == EINTR) {
      return scheme.error();
    }
    if (!scheme) {
      report::Scheme missing;
      missing.mechanism = mechanism.name;
      missing.level = mechanism.level;
      missing.note = scheme.error().message();
      outcome.schemes.push_back(std::move(missing));
      continue;
    }
    if (mechanism.level == 3 && scheme->online_p50_ms > 0) {
      best = std::max(best, none.online_p50_ms / scheme->online_p50_ms);
    }
    outcome.schemes.push_back(std::move(*scheme));
  }
  outcome.criteria.push_back(at_least("schemes", "online p50 without gpreempt over that at level 3",
                                      kAdvantage, "x", best));
  return outcome;
}

}  // namespace gp::bench
