// A request every 10 ms beside many queues, and beside many processes.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

struct OfflineLoad {
  unsigned processes, queues_each;
};

Result<Outcome> measure(const Context& context, const OfflineLoad& offline) {
  const milliseconds interval = 10ms, duration = context.lasting(3s, 60s);
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  std::vector<demo::Child> trainers;
  for (unsigned i = 0; i < offline.processes; ++i) {
    trainers.push_back(TRY(context.launcher.trainer(
        {&scheduler,
         fmt::format("trainer-{}", i),
         {"--streams", std::to_string(offline.queues_each), "--batch",
          std::to_string(16 * offline.queues_each), "--inputs", "64", "--hidden", "64"},
         {{"GPU_MAX_HW_QUEUES", std::to_string(offline.queues_each)}}})));
  }
  demo::Child server =
      TRY(context.launcher.server({&scheduler, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.launcher.served(server));
  u64 failures = 0;
  for (const JobView& job : TRY(look_at(scheduler)).jobs) {
    failures += job.failures;
  }
  for (demo::Child& trainer : trainers) {
    TRY(context.launcher.trained(trainer));  // each goes on, and ends in good order
  }
  const std::string name = fmt::format("{} process{} of {} queues", offline.processes,
                                       offline.processes == 1 ? "" : "es", offline.queues_each);
  Outcome outcome;
  auto latency = at_most("stress", fmt::format("online p50 beside {}", name), 50, "ms",
                         demo::quantile(latencies_ms(serving), 0.5));
  latency.note = tail_text(latencies_ms(serving));
  outcome.criteria = {latency, holds("stress", fmt::format("no stop fails with {}", name),
                                     failures == 0, fmt::format("{} failed", failures))};
  return outcome;
}

}  // namespace

Result<Outcome> run_stress(const Context& context) {
  const bool full = context.extent == Extent::full;
  Outcome all;
  for (const OfflineLoad& offline :
       {OfflineLoad{1, 10}, OfflineLoad{full ? 2U : 1U, 50}, OfflineLoad{full ? 32U : 6U, 1}}) {
    Outcome one = TRY(measure(context, offline));
    all.criteria.insert(all.criteria.end(), one.criteria.begin(), one.criteria.end());
  }
  return all;
}

}  // namespace gp::bench
