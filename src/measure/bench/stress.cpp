// A request every 10 ms beside many queues, and beside many processes.
#include <fmt/format.h>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

struct Crowd {
  unsigned processes, queues_each;
};

Result<Outcome> measure(const Context& context, const Crowd& crowd) {
  const milliseconds interval = 10ms, duration = context.lasting(3s, 60s);
  const demo::Scheduler scheduler = TRY(context.actors.daemon());
  std::vector<demo::Child> trainers;
  for (unsigned i = 0; i < crowd.processes; ++i) {
    trainers.push_back(TRY(context.actors.trainer(
        {&scheduler,
         fmt::format("trainer-{}", i),
         {"--streams", std::to_string(crowd.queues_each), "--batch",
          std::to_string(16 * crowd.queues_each), "--inputs", "64", "--hidden", "64"},
         {{"GPU_MAX_HW_QUEUES", std::to_string(crowd.queues_each)}}})));
  }
  demo::Child server =
      TRY(context.actors.server({&scheduler, "server", requests_every(interval, duration)}));
  const demo::Serving serving = TRY(context.actors.served(server));
  u64 failures = 0;
  for (const JobView& job : TRY(look_at(scheduler)).jobs) {
    failures += job.failures;
  }
  for (demo::Child& trainer : trainers) {
    TRY(context.actors.trained(trainer));  // each goes on, and ends in good order
  }
  const std::string name = fmt::format("{} process{} of {} queues", crowd.processes,
                                       crowd.processes == 1 ? "" : "es", crowd.queues_each);
  Outcome outcome;
  auto latency = at_most("stress", fmt::format("online p50 beside {}", name), 50, "ms",
                         demo::quantile(latencies_ms(serving), 0.5));
  latency.note = fmt::format("p99 {:.1f} ms", *demo::quantile(latencies_ms(serving), 0.99));
  outcome.criteria = {latency, holds("stress", fmt::format("no stop fails with {}", name),
                                     failures == 0, fmt::format("{} failed", failures))};
  return outcome;
}

}  // namespace

Result<Outcome> run_stress(const Context& context) {
  const bool full = context.extent == Extent::full;
  Outcome all;
  for (const Crowd& crowd : {Crowd{1, 10}, Crowd{full ? 2U : 1U, 50}, Crowd{full ? 32U : 6U, 1}}) {
    Outcome one = TRY(measure(context, crowd));
    all.criteria.insert(all.criteria.end(), one.criteria.begin(), one.criteria.end());
  }
  return all;
}

}  // namespace gp::bench
