// For long: requests at random moments; nothing leaks, nothing is lost, nobody is left stopped.
#include <fmt/format.h>
#include <unistd.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/driver_log.h"
#include "bench/process_counts.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kGrowthKb = 2048;  // less than what an allocator keeps for itself
constexpr double kMostCpu = 1;

double growth(u64 before, u64 after) {
  return static_cast<double>(after) - static_cast<double>(before);
}

// The trainer starts over after so many steps: all it does in hours is compared with this.
constexpr const char* kSteps = "50";

Result<demo::Training> undisturbed(const Context& context) {
  demo::Child trainer = TRY(context.launcher.trainer({nullptr, "undisturbed", {kSteps}}));
  TRY(context.launcher.waiter().wait("the undisturbed steps", {&trainer},
                                     [&] { return trainer.status().has_value(); }));
  return context.launcher.trained(trainer);
}

// What a process has when it has seen to its end what just ended, as a connection that we have
// closed. What has leaked is there for ever.
Result<ProcessCounts> counts_at_rest(const Context& context, demo::Child& trainer, pid_t pid,
                                     const ProcessCounts& before) {
  constexpr int kLooks = 40;
  for (int look = 0;; ++look) {
    const ProcessCounts now = TRY(counts_of(pid));
    if ((now.files <= before.files && now.threads <= before.threads) || look == kLooks) {
      return now;
    }
    TRY(context.launcher.wait(50ms, {&trainer}));
  }
}

double percent_of_a_core(u64 ticks, milliseconds time) {
  const double seconds = static_cast<double>(ticks) / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return 100 * seconds / (static_cast<double>(time.count()) / 1000);
}

report::Criterion driver_is_quiet(Result<DriverLog>& log) {
  const auto complaints = log ? log->complaints() : Result<std::vector<std::string>>(log.error());
  auto criterion = at_most("stability", "complaints in the driver's log", 0, "", std::nullopt);
  if (!complaints) {
    const Error& why = complaints.error();
    criterion.note = fmt::format("not measured: {} ({})", why.message(), why.hint);
    return criterion;
  }
  criterion.value = static_cast<double>(complaints->size());
  criterion.note = complaints->empty() ? "" : fmt::format("the first: {}", complaints->front());
  return criterion;
}

// The server that has just ended may still be known to the daemon, and then has files there.
Status wait_until_alone(const Context& context, const demo::Scheduler& scheduler,
                        demo::Child& trainer) {
  return context.launcher.waiter().wait("the trainer to run again, alone", {&trainer}, [&] {
    const auto view = look_at(scheduler);
    const JobView* job = view ? view->job("trainer") : nullptr;
    return job != nullptr && job->state == "running" && view->jobs.size() == 1;
  });
}

}  // namespace

Result<Outcome> run_stability(const Context& context) {
  const bool full = context.extent == Extent::full;
  const milliseconds duration = context.lasting(6s, 3600s), interval = full ? 5000ms : 200ms;
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  demo::Child trainer =
      TRY(context.launcher.trainer({&scheduler, "trainer", {"--start-over", kSteps}}));
  const pid_t daemon = TRY(look_at(scheduler)).daemon;
  demo::Child warm_up = TRY(context.launcher.server({&scheduler, "warm-up", {"10", "20"}}));
  TRY(context.launcher.served(warm_up, {&trainer}));
  TRY(wait_until_alone(context, scheduler, trainer));
  Result<DriverLog> driver_log = DriverLog::open();
  TRY(context.launcher.wait(500ms, {&trainer}));  // for our own connection to be gone there
  const ProcessCounts daemon_before = TRY(counts_of(daemon));
  const ProcessCounts trainer_before = TRY(counts_of(trainer.pid()));

  demo::Child server =
      TRY(context.launcher.server({&scheduler,
                                   "server",
                                   {std::to_string(duration / interval),
                                    std::to_string(interval.count()), "--arrivals", "poisson"}}));
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  TRY(wait_until_alone(context, scheduler, trainer));
  const ProcessCounts daemon_after = TRY(counts_at_rest(context, trainer, daemon, daemon_before));
  const ProcessCounts trainer_after =
      TRY(counts_at_rest(context, trainer, trainer.pid(), trainer_before));
  const u64 failures = TRY(look_at(scheduler)).job("trainer")->failures;
  const demo::Training training = TRY(context.launcher.trained(trainer));
  const auto same = demo::same_results(training, TRY(undisturbed(context)));

  Outcome outcome;
  outcome.criteria = {
      at_most("stability", "memory the daemon has grown by", kGrowthKb, "kB",
              growth(daemon_before.anonymous_kb, daemon_after.anonymous_kb)),
      at_most("stability", "CPU the daemon took", kMostCpu, "% of a core",
              percent_of_a_core(daemon_after.cpu_ticks - daemon_before.cpu_ticks, duration)),
      at_most("stability", "files the daemon has gained", 0, "",
              growth(daemon_before.files, daemon_after.files)),
      at_most("stability", "threads the daemon has gained", 0, "",
              growth(daemon_before.threads, daemon_after.threads)),
      at_most("stability", "files the offline program has gained", 0, "",
              growth(trainer_before.files, trainer_after.files)),
      at_most("stability", "threads the offline program has gained", 0, "",
              growth(trainer_before.threads, trainer_after.threads)),
      at_most("stability", "stops that failed", 0, "", static_cast<double>(failures)),
      driver_is_quiet(driver_log),
      holds("stability", "offline results are those of an undisturbed run", same.value_or(false),
            same ? "" : "no step was reported by both"),
      at_most("stability", "online p99", 50, "ms", demo::quantile(latencies_ms(serving), 0.99)),
  };
  return outcome;
}

}  // namespace gp::bench
