#include "bench/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "bench/criteria.h"
#include "demo/cpu_meter.h"
#include "report/verdict.h"

namespace gp::bench {
namespace {

constexpr int kMostRepeats = 2;
constexpr double kShortS = 30;  // longer ones are not worth the wait

Outcome failure_of(const Scenario& scenario, const Error& error) {
  auto failed = at_least(scenario.name, "runs to its end", 1, "", std::nullopt);
  failed.note = error.message();
  Outcome outcome;
  outcome.criteria.push_back(std::move(failed));
  return outcome;
}

bool depends_on_time(const report::Criterion& criterion) {
  constexpr std::string_view kUnits[] = {"ms", "us", "x", "%"};  // times, their ratios, speeds
  return std::ranges::count(kUnits, criterion.unit) != 0;
}

Result<Attempt> attempt(const Scenario& scenario, const Context& context) {
  const demo::CpuMeter meter;
  auto outcome = scenario.run(context);
  if (!outcome && outcome.error().code == EINTR) {
    return outcome.error();
  }
  Attempt made{outcome ? std::move(*outcome) : failure_of(scenario, outcome.error()), meter.read()};
  if (!outcome && outcome.error().code == ETIMEDOUT) {  // waited in vain, as on a busy machine
    made.outcome.criteria.front().others = made.others;
  }
  note_others(made.others, made.outcome);
  return made;
}

// That of the worst criterion.
report::Verdict verdict_of(const Outcome& outcome) {
  using report::Verdict;
  if (std::ranges::any_of(outcome.criteria, report::is_missed)) {
    return Verdict::missed;
  }
  return std::ranges::any_of(outcome.criteria, report::is_inconclusive) ? Verdict::inconclusive
                                                                        : Verdict::met;
}

}  // namespace

void note_others(const std::optional<report::OtherPrograms>& others, Outcome& outcome) {
  for (report::Criterion& criterion : outcome.criteria) {
    if (criterion.value && depends_on_time(criterion)) {
      criterion.others = others;
    }
  }
}

Attempt quieter(Attempt first, Attempt second) {
  const bool is_second = first.others && second.others &&
                         report::part_of_cpus(*second.others) < report::part_of_cpus(*first.others);
  return is_second ? second : first;
}

Result<Outcome> run(const Scenario& scenario, const Context& context, demo::Progress& progress) {
  progress.begin(scenario.name);
  Attempt kept = TRY(attempt(scenario, context));
  for (int repeat = 0; repeat < kMostRepeats; ++repeat) {
    if (std::ranges::none_of(kept.outcome.criteria, report::is_inconclusive) ||
        kept.others->elapsed_s > kShortS) {
      break;
    }
    progress.done(report::name(report::Verdict::inconclusive));
    progress.say(fmt::format("Other programs took {}: {} is measured again.",
                             report::others_text(*kept.others), scenario.name));
    progress.begin(fmt::format("{} again", scenario.name));
    Attempt again = TRY(attempt(scenario, context));
    kept = quieter(std::move(kept), std::move(again));
  }
  progress.done(report::shown_as(verdict_of(kept.outcome)));
  return std::move(kept.outcome);
}

std::span<const Scenario> scenarios() {
  static constexpr Scenario kAll[] = {
      {"basic", "an offline job, requests now and then", run_basic},
      {"beside", "request latency beside an offline job over that alone", run_beside},
      {"throughput", "what an offline job loses at 2 requests per second", run_throughput},
      {"frequent", "requests every 100 ms and every 10 ms", run_frequent},
      {"notice", "from online's first packet to the stop, with 1 and 64 idle clients", run_notice},
      {"outside", "online work without an agent: how soon it is seen, what that costs",
       run_outside},
      {kLlm, "a language model (llama-server) answers beside an offline job", run_llm},
      {"idle", "what a daemon costs that has nothing to do", run_idle},
      {"edge", "nothing to stop, twice the same, everybody at once", run_edge},
      {"latency", "stops and starts of 1, 10 and 64 queues by each mechanism", run_latency},
      {"schemes", "the same load under every mechanism", run_schemes},
      {"tokens", "requests of many bursts with pauses, as a language model's", run_tokens},
      {"stress", "a request every 10 ms beside many queues and many processes", run_stress},
      {kHostile, "a user floods the daemon: what others notice of it", run_hostile},
      {"stability", "random arrivals for long: leaks, lost results, jobs left stopped",
       run_stability},
  };
  return kAll;
}

}  // namespace gp::bench
