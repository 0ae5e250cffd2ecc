// The acceptance scenario: one offline job, a request now and then.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {

using namespace std::chrono_literals;

Result<Outcome> run_basic(const Context& context) {
  const milliseconds interval = 500ms, duration = context.lasting(6s, 60s);
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", {}}));
  demo::Child server =
      TRY(context.launcher.server({&scheduler, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
  // The last stop may just be ending.
  std::optional<JobView> job;
  TRY(context.launcher.waiter().wait("the trainer to run again", {&trainer}, [&] {
    const auto view = look_at(scheduler);
    const JobView* found = view ? view->job("trainer") : nullptr;
    job = found != nullptr ? std::optional(*found) : std::nullopt;
    return job && job->state == "running";
  }));
  const demo::Training training = TRY(context.launcher.trained(trainer));

  Outcome outcome;
  const auto slowest = demo::quantile(latencies_ms(serving), 1);
  outcome.criteria = {
      at_least("basic", "stops of the offline job", 1, "", static_cast<double>(job->preemptions)),
      at_most("basic", "slowest request", 50, "ms", slowest),
      at_most("basic", "slowest request (ideal)", 10, "ms", slowest),
      holds("basic", "offline runs again after the last request", job->state == "running",
            fmt::format("by {}, level {}", job->mechanism, job->level)),
      holds("basic", "no stop has failed", job->failures == 0),
      holds("basic", "offline goes on to the end", !training.trail.empty()),
  };
  return outcome;
}

}  // namespace gp::bench
