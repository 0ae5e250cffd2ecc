// A request every 10 ms beside many queues, and beside many processes.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

constexpr double kLatencyMs = 50;
// No load explains this beside a job that is stopped: somebody has waited for what was lost.
constexpr double kStandstillMs = 1000;

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
  const std::vector<double> latencies = latencies_ms(serving);
  const auto judged = [&](const char* which, double quantile, double limit_ms) {
    return at_most("stress", fmt::format("online {} beside {}", which, name), limit_ms, "ms",
                   demo::quantile(latencies, quantile));
  };
  outcome.criteria = {judged("p50", 0.5, kLatencyMs), judged("p99", 0.99, kLatencyMs),
                      judged("max", 1, kStandstillMs),
                      holds("stress", fmt::format("no stop fails with {}", name), failures == 0,
                            fmt::format("{} failed", failures))};
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
