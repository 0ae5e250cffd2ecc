// A daemon with nothing to do, and clients that do nothing: no wake-ups, no time, little memory.
#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/idle_clients.h"
#include "bench/process_counts.h"
#include "bench/scenario.h"

namespace gp::bench {

using namespace std::chrono_literals;

Result<Outcome> run_idle(const Context& context) {
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  const IdleClients clients = TRY(IdleClients::start(8, scheduler.socket()));
  const pid_t daemon = TRY(look_at(scheduler)).daemon;
  TRY(context.launcher.wait(500ms, {}));  // our own look has been dealt with
  const ProcessCounts before = TRY(counts_of(daemon));
  TRY(context.launcher.wait(context.lasting(3s, 30s), {}));
  const ProcessCounts after = TRY(counts_of(daemon));
  Outcome outcome;
  outcome.criteria = {
      at_most("idle", "wake-ups of an idle daemon", 0, "",
              static_cast<double>(after.wakes - before.wakes)),
      at_most("idle", "processor time of an idle daemon", 0, "ticks",
              static_cast<double>(after.cpu_ticks - before.cpu_ticks)),
      at_most("idle", "memory of its own", 10, "MB",
              static_cast<double>(after.anonymous_kb) / 1000),
  };
  return outcome;
}

}  // namespace gp::bench
