// A language model beside an offline job: llama-server, unmodified, answers one user's questions
// while the example trainer trains. Its load is a kernel after another with CPU work between them,
// a few milliseconds apart, and an answer of 16 tokens is over when all of them were let through.
// What the scheduler learns of the gaps is compared with fixed lingers, and with a job that is
// there and never started.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "bench/criteria.h"
#include "bench/scenario.h"
#include "demo/llama_server.h"
#include "demo/phases.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kP50Limit = 1.05, kSlowestLimit = 1.2;
constexpr double kKeptLimit = 90;   // percent of the time that online leaves
constexpr u64 kNeverOverMs = 1000;  // longer than the user ever thinks

// How long stops outlast online work.
struct Linger {
  std::string name, parameters;
};

Linger learnt() { return {report::kLearnt, ""}; }
Linger fixed(u64 ms) {
  return {fmt::format("fixed at {} ms", ms),
          fmt::format("[parameters]\nlearn_gaps = false\nlinger_min = \"{0}ms\"\n"
                      "linger_max = \"{0}ms\"\n",
                      ms)};
}
// The job is there, and stopped all the time: less than this takes no scheduler.
Linger never_over() { return {report::kNeverOver, fixed(kNeverOverMs).parameters}; }

struct Beside {
  std::string linger;
  report::Phase phase;
};

struct Phases {
  report::Phase alone, offline, without, again;
  std::vector<Beside> with;  // learnt, never over, then the fixed ones

  const report::Phase& learnt() const { return with[0].phase; }
  const report::Phase& never_over() const { return with[1].phase; }
};

std::vector<Linger> lingers(const Context& context) {
  std::vector<Linger> all = {learnt(), never_over()};
  const bool full = context.extent == Extent::full;
  for (const u64 ms : full ? std::vector<u64>{0, 2, 5, 10, 20, 50} : std::vector<u64>{2, 10, 30}) {
    all.push_back(fixed(ms));
  }
  return all;
}

Result<demo::Measured> measure_with(const Context& context, const demo::PhaseRunner& runner,
                                    const Linger& linger) {
  const demo::Scheduler scheduler = TRY(context.launcher.daemon(linger.parameters));
  return runner.both(&scheduler);
}

Result<Phases> measure(const Context& context, const demo::Load& load) {
  const Launcher& launcher = context.launcher;
  const demo::PhaseRunner runner(launcher.programs(), launcher.scratch(), load, launcher.waiter());
  const demo::Measured alone = TRY(runner.online_alone());
  const demo::Measured offline = TRY(runner.offline_alone(load.longer));
  const demo::Undisturbed undisturbed{offline.training, alone.serving};
  const auto phase = [&](const char* name, const demo::Measured& measured) {
    return demo::phase_of(name, measured, undisturbed);
  };
  Phases phases;
  phases.alone = TRY(phase(demo::kOnlineAlone, alone));
  phases.offline = TRY(phase(demo::kOfflineAlone, offline));
  phases.without = TRY(phase(demo::kBothWithout, TRY(runner.both(nullptr))));
  for (const Linger& linger : lingers(context)) {
    const demo::Measured measured = TRY(measure_with(context, runner, linger));
    phases.with.push_back({linger.name, TRY(phase(demo::kBothWith, measured))});
  }
  phases.again = TRY(phase(demo::kOnlineAlone, TRY(runner.online_alone())));
  return phases;
}

// The part of the time outside of requests in which offline work ran.
std::optional<double> kept(const report::Phase& with, const report::Phase& offline) {
  const std::vector<double>& requests = with.online_latency_ms;
  const double busy_s = std::accumulate(requests.begin(), requests.end(), 0.0) / 1000;
  const auto left = report::ratio(with.duration_s - busy_s, with.duration_s);
  return report::ratio(report::ratio(with.offline_steps_per_s, offline.offline_steps_per_s), left);
}

std::vector<report::LingerRun> linger_runs(const Phases& phases) {
  std::vector<report::LingerRun> runs;
  for (const Beside& one : phases.with) {
    const std::vector<double>& requests = one.phase.online_latency_ms;
    report::LingerRun run;
    run.linger = one.linger;
    run.online_p50_ms = demo::quantile(requests, 0.5);
    run.online_max_ms = demo::quantile(requests, 1);
    run.stops_per_request = report::ratio(static_cast<double>(one.phase.preemptions),
                                          static_cast<double>(requests.size()));
    run.offline_kept = kept(one.phase, phases.offline);
    runs.push_back(std::move(run));
  }
  return runs;
}

// The one with which online answers soonest, of those that leave offline work what it is to keep;
// else the one that leaves it most.
void mark_best_fixed(std::vector<report::LingerRun>& runs) {
  const auto is_worse = [](const report::LingerRun& a, const report::LingerRun& b) {
    const auto keeps = [](const report::LingerRun& run) { return run.offline_kept.value_or(0); };
    const bool a_keeps = keeps(a) >= kKeptLimit / 100, b_keeps = keeps(b) >= kKeptLimit / 100;
    if (a_keeps != b_keeps) {
      return b_keeps;
    }
    return a_keeps ? a.online_p50_ms > b.online_p50_ms : keeps(a) < keeps(b);
  };
  std::ranges::max_element(runs.begin() + 2, runs.end(), is_worse)->best_fixed = true;
}

const report::LingerRun& best_fixed(const std::vector<report::LingerRun>& runs) {
  return *std::ranges::find_if(runs, &report::LingerRun::best_fixed);
}

report::Criterion latency(const char* what, double limit, double q, const Phases& phases) {
  const auto of = [q](const report::Phase& phase) {
    return demo::quantile(phase.online_latency_ms, q);
  };
  // Against the mean of the runs before and after: what drifts, drifts out.
  const auto alone = mean(of(phases.alone), of(phases.again));
  const auto over_alone = [&](const report::Phase& phase) {
    return report::ratio(of(phase), alone);
  };
  auto criterion = at_most("llm", what, limit, "x", over_alone(phases.learnt()));
  criterion.noise = apart(of(phases.alone), of(phases.again));
  criterion.limit = std::max(limit, criterion.noise.value_or(0));
  criterion.note =
      fmt::format("alone {}; beside a job that is never started {}; without gpreempt {}",
                  report::format_ms(alone), report::format_factor(over_alone(phases.never_over())),
                  report::format_factor(over_alone(phases.without)));
  return criterion;
}

report::Criterion against_fixed(const std::vector<report::LingerRun>& runs,
                                std::optional<double> noise) {
  const report::LingerRun& best = best_fixed(runs);
  auto criterion = at_most("llm", "p50 over that with the best fixed linger", kP50Limit, "x",
                           report::ratio(runs[0].online_p50_ms, best.online_p50_ms));
  criterion.noise = noise;
  criterion.limit = std::max(criterion.limit, noise.value_or(0));
  criterion.note = fmt::format("{}; offline keeps {} with it", best.linger,
                               report::format_percent(best.offline_kept));
  return criterion;
}

bool has_same_texts(const report::Phase& phase) {
  return phase.tokens && phase.tokens->texts_equal.value_or(false);
}

}  // namespace

Result<Outcome> run_llm(const Context& context) {
  const std::string program = TRY(demo::find_llama_server(context.llama_server));
  demo::LlamaServer llama = TRY(demo::examine_llama_server(program, "", context.launcher.scratch(),
                                                           context.launcher.waiter()));
  const demo::Load load =
      demo::load_with(std::move(llama), context.virtual_gpu, context.lasting(9s, 45s));
  const Phases phases = TRY(measure(context, load));
  Outcome outcome;
  outcome.lingers = linger_runs(phases);
  mark_best_fixed(outcome.lingers);
  const auto is_intact = [](const report::Phase& phase) {
    return phase.checksum_ok.value_or(false) && has_same_texts(phase);
  };
  const auto part = outcome.lingers[0].offline_kept;
  const report::Criterion p50 =
      latency("p50 of a language model's answers, over alone", kP50Limit, 0.5, phases);
  outcome.criteria = {p50, latency("slowest of them, over alone", kSlowestLimit, 1, phases),
                      against_fixed(outcome.lingers, p50.noise),
                      at_least("llm", "of the time between answers offline keeps", kKeptLimit, "%",
                               part ? std::optional(100 * *part) : std::nullopt),
                      holds("llm", "texts and training are those of each alone",
                            is_intact(phases.without) &&
                                std::ranges::all_of(phases.with, is_intact, &Beside::phase))};
  return outcome;
}

}  // namespace gp::bench
