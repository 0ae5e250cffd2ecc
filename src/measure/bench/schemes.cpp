// The same load under every mechanism, and under none.
#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "bench/batching.h"
#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/held_job.h"
#include "bench/mechanisms.h"
#include "bench/reservation.h"
#include "bench/scenario.h"
#include "bench/two_programs.h"
#include "demo/summary.h"
#include "mechanism/mechanism.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kStops = 20;        // by hand, besides those that requests cause
constexpr double kAdvantage = 3;  // what level 3 should give; level 1 gave 1.07 on hardware

Status stop_by_hand(const Context& context, const demo::Scheduler& scheduler, demo::Child& trainer,
                    report::Scheme& scheme) {
  HeldJob job = TRY(HeldJob::of(scheduler, context.launcher.waiter(), trainer));
  std::vector<double> stops, starts;
  for (int i = 0; i < kStops; ++i) {
    TRY(job.stop());
    add_known(TRY(job.view()).last_stop_us, stops);
    TRY(job.start());
    add_known(TRY(job.view()).last_start_us, starts);
  }
  scheme.stop_p50_us = demo::quantile(stops, 0.5);
  scheme.stop_p99_us = demo::quantile(stops, 0.99);
  scheme.start_p50_us = demo::quantile(starts, 0.5);
  scheme.start_p99_us = demo::quantile(starts, 0.99);
  return ok();
}

// An offline trainer and an online server. Without a scheduler they meet as they would anywhere.
Status measure_load(const Context& context, const MeasuredMechanism* mechanism,
                    const demo::Scheduler* scheduler, report::Scheme& scheme) {
  const milliseconds interval = 100ms, duration = context.lasting(2s, 60s);
  Workload workload{scheduler, "trainer", {}};
  if (mechanism != nullptr) {
    workload.environment = mechanism->environment;
    workload.agent = mechanism->agent;
  }
  demo::Child trainer = TRY(context.launcher.trainer(workload));
  demo::Child server =
      TRY(context.launcher.server({scheduler, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  if (scheduler != nullptr) {
    TRY(stop_by_hand(context, *scheduler, trainer, scheme));
    const DaemonView view = TRY(look_at(*scheduler));
    if (const JobView* job = view.job_of(trainer.pid()); job != nullptr && job->preemptions == 0) {
      scheme.note = "it never stopped the job";
    }
  }
  const demo::Training training = TRY(context.launcher.trained(trainer));
  const std::vector<double> latencies = latencies_ms(serving);
  scheme.online_p50_ms = demo::quantile(latencies, 0.5);
  scheme.online_p99_ms = demo::quantile(latencies, 0.99);
  scheme.offline_steps_per_s = demo::steps_per_second(training, serving.start_us, serving.end_us());
  return ok();
}

Result<report::Scheme> measure(const Context& context, const RequestLoad& load,
                               const MeasuredMechanism* mechanism) {
  report::Scheme scheme;
  scheme.mechanism = mechanism != nullptr ? mechanism->name : report::kNoScheme;
  scheme.level = mechanism != nullptr ? mechanism->level : 0;
  std::optional<demo::Scheduler> scheduler;
  if (mechanism != nullptr) {
    scheduler.emplace(TRY(context.launcher.daemon_with(*mechanism)));
  }
  const demo::Scheduler* with = scheduler ? &*scheduler : nullptr;
  TRY(measure_load(context, mechanism, with, scheme));
  const auto ratio = low_over_high(context, load, mechanism, with);
  if (!ratio && ratio.error().code == EINTR) {
    return ratio.error();
  }
  if (ratio) {
    scheme.low_over_high = *ratio;
  } else {
    scheme.note = ratio.error().message();
  }
  return scheme;
}

// A scheme that cannot be had is told with the reason; only the user's wish to end ends it all.
Result<report::Scheme> measure_or_tell(const Context& context, const RequestLoad& load,
                                       const MeasuredMechanism& mechanism) {
  const std::string_view name = mechanism.name;
  const Status there = name == "kernel" ? gp::mechanism::check_kernel_support() : ok();
  auto scheme = there ? measure(context, load, &mechanism) : there.error();
  if (scheme || scheme.error().code == EINTR) {
    return scheme;
  }
  report::Scheme missing;
  missing.mechanism = mechanism.name;
  missing.level = mechanism.level;
  missing.note = scheme.error().message();
  return missing;
}

report::Criterion advantage(const std::vector<report::Scheme>& schemes) {
  std::optional<double> without, best;
  for (const report::Scheme& scheme : schemes) {
    if (scheme.mechanism == report::kNoScheme) {
      without = scheme.online_p50_ms;
    } else if (scheme.level == 3) {
      best = std::max(best, report::ratio(without, scheme.online_p50_ms));  // unknown is least
    }
  }
  return at_least("schemes", "online p50 without gpreempt over that at level 3", kAdvantage, "x",
                  best);
}

// The least of all schemes of level 3. One that could not be told what it is worth has not passed.
report::Criterion priority_counts(const std::vector<report::Scheme>& schemes) {
  report::Criterion criterion =
      at_least("schemes", "offline p50 over online p50 of like programs, level 3", kAdvantage, "x",
               std::nullopt);
  for (const report::Scheme& scheme : schemes) {
    if (scheme.level != 3 || !scheme.online_p50_ms) {
      continue;
    }
    if (!scheme.low_over_high) {
      criterion.value.reset();
      criterion.note = fmt::format("{}: {}", scheme.mechanism, scheme.note);
      break;
    }
    criterion.value =
        std::min(criterion.value.value_or(*scheme.low_over_high), *scheme.low_over_high);
  }
  return criterion;
}

// Counted, not timed: it holds on a virtual GPU as on any other.
std::optional<report::Criterion> batched_as_one(const report::Batching& batching) {
  const auto one = std::ranges::find(batching.ways, report::kOneCall, &report::BatchWay::call_for);
  if (one == batching.ways.end() || !one->stop_unmaps) {
    return std::nullopt;
  }
  return at_most("schemes",
                 fmt::format("unmaps to stop {} queues of {} processes by one call",
                             batching.queues, batching.processes),
                 1, "", static_cast<double>(*one->stop_unmaps));
}

}  // namespace

Result<Outcome> run_schemes(const Context& context) {
  Outcome outcome;
  const RequestLoad load = TRY(request_load_for(context));
  outcome.schemes.push_back(TRY(measure(context, load, nullptr)));
  for (const MeasuredMechanism& mechanism : measured_mechanisms()) {
    outcome.schemes.push_back(TRY(measure_or_tell(context, load, mechanism)));
  }
  outcome.criteria.push_back(advantage(outcome.schemes));
  outcome.criteria.push_back(priority_counts(outcome.schemes));
  outcome.batching = TRY(compare_batching(context));
  if (const auto counted = batched_as_one(*outcome.batching)) {
    outcome.criteria.push_back(*counted);
  }
  outcome.reservation = TRY(compare_reservation(context));
  return outcome;
}

}  // namespace gp::bench
