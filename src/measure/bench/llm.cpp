// A language model beside an offline job: llama-server, unmodified, answers one user's questions
// while the example trainer trains. Its load is a kernel after another with CPU work between them,
// a few milliseconds apart, and an answer of 16 tokens is over when all of them were let through.
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
constexpr double kKeptLimit = 90;  // percent of the time that online leaves

struct Phases {
  report::Phase alone, offline, without, with, again;
};

Result<Phases> measure(const Context& context, const demo::Load& load) {
  const Launcher& launcher = context.launcher;
  const demo::PhaseRunner runner(launcher.programs(), launcher.scratch(), load, launcher.waiter());
  const demo::Measured alone = TRY(runner.online_alone());
  const demo::Measured offline = TRY(runner.offline_alone(load.longer));
  const demo::Measured without = TRY(runner.both(nullptr));
  demo::Measured with;
  {
    const demo::Scheduler scheduler = TRY(launcher.daemon());
    with = TRY(runner.both(&scheduler));
  }
  const demo::Measured again = TRY(runner.online_alone());
  const demo::Undisturbed undisturbed{offline.training, alone.serving};
  const auto phase = [&](const char* name, const demo::Measured& measured) {
    return demo::phase_of(name, measured, undisturbed);
  };
  return Phases{TRY(phase(demo::kOnlineAlone, alone)), TRY(phase(demo::kOfflineAlone, offline)),
                TRY(phase(demo::kBothWithout, without)), TRY(phase(demo::kBothWith, with)),
                TRY(phase(demo::kOnlineAlone, again))};
}

// Percent of the time outside of requests in which offline work ran.
std::optional<double> kept(const Phases& phases) {
  const std::vector<double>& requests = phases.with.online_latency_ms;
  const double busy_s = std::accumulate(requests.begin(), requests.end(), 0.0) / 1000;
  const auto left = report::ratio(phases.with.duration_s - busy_s, phases.with.duration_s);
  const auto speed =
      report::ratio(phases.with.offline_steps_per_s, phases.offline.offline_steps_per_s);
  const auto part = report::ratio(speed, left);
  return part ? std::optional(100 * *part) : std::nullopt;
}

report::Criterion latency(const char* what, double limit, double q, const Phases& phases) {
  const auto of = [q](const report::Phase& phase) {
    return demo::quantile(phase.online_latency_ms, q);
  };
  // Against the mean of the runs before and after: what drifts, drifts out.
  const auto alone = mean(of(phases.alone), of(phases.again));
  auto criterion = at_most("llm", what, limit, "x", report::ratio(of(phases.with), alone));
  criterion.noise = apart(of(phases.alone), of(phases.again));
  criterion.limit = std::max(limit, criterion.noise.value_or(0));
  criterion.note = fmt::format("alone {}; without gpreempt {}; {} stops for {} requests",
                               report::format_ms(alone),
                               report::format_factor(report::ratio(of(phases.without), alone)),
                               phases.with.preemptions, phases.with.online_latency_ms.size());
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
  outcome.criteria = {
      latency("p50 of a language model's answers, over alone", kP50Limit, 0.5, phases),
      latency("slowest of them, over alone", kSlowestLimit, 1, phases),
      at_least("llm", "of the time between answers offline keeps", kKeptLimit, "%", kept(phases)),
      holds("llm", "texts are those of the model alone",
            has_same_texts(phases.without) && has_same_texts(phases.with)),
      holds("llm", "training is that of an undisturbed run",
            phases.without.checksum_ok.value_or(false) && phases.with.checksum_ok.value_or(false))};
  return outcome;
}

}  // namespace gp::bench
