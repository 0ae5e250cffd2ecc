// For long: requests at random moments; nothing leaks, nothing is lost, nobody is left stopped.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/process_counts.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kGrowthKb = 2048;  // less than what an allocator keeps for itself

double growth(u64 before, u64 after) {
  return static_cast<double>(after) - static_cast<double>(before);
}

// The trainer starts over after so many steps: all it does in hours is compared with this.
constexpr const char* kSteps = "50";

Result<demo::Training> undisturbed(const Context& context) {
  demo::Child trainer = TRY(context.actors.trainer({nullptr, "undisturbed", {kSteps}}));
  TRY(context.actors.stage().wait("the undisturbed steps", {&trainer},
                                  [&] { return trainer.status().has_value(); }));
  return context.actors.trained(trainer);
}

// The server that has just ended may still be known to the daemon, and then has files there.
Status wait_until_alone(const Context& context, const demo::Scheduler& scheduler,
                        demo::Child& trainer) {
  return context.actors.stage().wait("the trainer to run again, alone", {&trainer}, [&] {
    const auto view = look_at(scheduler);
    const JobView* job = view ? view->job("trainer") : nullptr;
    return job != nullptr && job->state == "running" && view->jobs.size() == 1;
  });
}

}  // namespace

Result<Outcome> run_stability(const Context& context) {
  const bool full = context.extent == Extent::full;
  const milliseconds duration = context.lasting(10s, 3600s), interval = full ? 5000ms : 200ms;
  const demo::Scheduler scheduler = TRY(context.actors.daemon());
  demo::Child trainer =
      TRY(context.actors.trainer({&scheduler, "trainer", {"--start-over", kSteps}}));
  const pid_t daemon = TRY(look_at(scheduler)).daemon;
  demo::Child warm_up = TRY(context.actors.server({&scheduler, "warm-up", {"10", "20"}}));
  TRY(context.actors.served(warm_up, {&trainer}));
  TRY(wait_until_alone(context, scheduler, trainer));
  const ProcessCounts daemon_before = TRY(counts_of(daemon));
  const ProcessCounts trainer_before = TRY(counts_of(trainer.pid()));

  demo::Child server =
      TRY(context.actors.server({&scheduler,
                                 "server",
                                 {std::to_string(duration / interval),
                                  std::to_string(interval.count()), "--arrivals", "poisson"}}));
  const demo::Serving serving = TRY(context.actors.served(server, {&trainer}));
  TRY(wait_until_alone(context, scheduler, trainer));
  const ProcessCounts daemon_after = TRY(counts_of(daemon));
  const ProcessCounts trainer_after = TRY(counts_of(trainer.pid()));
  const u64 failures = TRY(look_at(scheduler)).job("trainer")->failures;
  const demo::Training training = TRY(context.actors.trained(trainer));
  const auto same = demo::same_results(training, TRY(undisturbed(context)));

  Outcome outcome;
  outcome.criteria = {
      at_most("stability", "memory the daemon has grown by", kGrowthKb, "kB",
              growth(daemon_before.anonymous_kb, daemon_after.anonymous_kb)),
      at_most("stability", "files the daemon has gained", 0, "",
              growth(daemon_before.files, daemon_after.files)),
      at_most("stability", "threads the daemon has gained", 0, "",
              growth(daemon_before.threads, daemon_after.threads)),
      at_most("stability", "files the offline program has gained", 0, "",
              growth(trainer_before.files, trainer_after.files)),
      at_most("stability", "threads the offline program has gained", 0, "",
              growth(trainer_before.threads, trainer_after.threads)),
      at_most("stability", "stops that failed", 0, "", static_cast<double>(failures)),
      holds("stability", "offline results are those of an undisturbed run", same.value_or(false),
            same ? "" : "no step was reported by both"),
      at_most("stability", "online p99", 50, "ms", demo::quantile(latencies_ms(serving), 0.99)),
  };
  return outcome;
}

}  // namespace gp::bench
