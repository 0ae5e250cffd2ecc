// The corners: nothing to stop, the same twice, everybody at once.
#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include "bench/criteria.h"
#include "bench/held_job.h"
#include "bench/scenario.h"
#include "demo/summary.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

void nothing_to_stop(const demo::Scheduler& scheduler, Outcome& outcome) {
  auto client = wire::Client::connect(scheduler.socket());
  const auto ask = [&](u32 pid) {
    wire::Suspend request;
    request.pid = pid;
    request.duration_ns = 1'000'000;
    return client ? client->ask(request) : client.error();
  };
  const Status ours = ask(static_cast<u32>(::getpid())), nobodys = ask(0x3fffffff);
  outcome.criteria.push_back(holds("edge", "a process without queues is refused in words", !ours,
                                   ours ? "" : ours.error().message()));
  outcome.criteria.push_back(holds("edge", "a process that is not there is refused in words",
                                   !nobodys, nobodys ? "" : nobodys.error().message()));
}

Status twice(const Context& context, const demo::Scheduler& scheduler, demo::Child& trainer,
             Outcome& outcome) {
  HeldJob job = TRY(HeldJob::of(scheduler, context.launcher.waiter(), trainer));
  TRY(job.stop());
  const auto again = job.stop();
  outcome.criteria.push_back(
      holds("edge", "stopping what is stopped does no harm",
            again || again.error().code == EBUSY || again.error().code == EALREADY,
            again ? "" : again.error().message()));
  TRY(job.start());
  const Status second = job.start();
  outcome.criteria.push_back(holds("edge", "starting what runs does no harm",
                                   second && TRY(job.view()).state == "running",
                                   second ? "" : second.error().message()));
  return ok();
}

// Ten streams on ten queues: one stop for all of them.
Status ten_as_one(const Context& context, const demo::Scheduler& scheduler, Outcome& outcome) {
  demo::Child many = TRY(context.launcher.trainer({&scheduler,
                                                   "ten-queues",
                                                   {"--streams", "10", "--batch", "160"},
                                                   {{"GPU_MAX_HW_QUEUES", "10"}}}));
  HeldJob job = TRY(HeldJob::of(scheduler, context.launcher.waiter(), many));
  TRY(job.stop());
  const JobView stopped = TRY(job.view());
  TRY(job.start());
  TRY(context.launcher.trained(many));
  outcome.criteria.push_back(holds("edge", "ten queues are stopped as one",
                                   stopped.state == "stopped" && stopped.preemptions == 1,
                                   fmt::format("by {}", stopped.mechanism)));
  return ok();
}

Status everybody_at_once(const Context& context, const demo::Scheduler& scheduler,
                         demo::Child& trainer, Outcome& outcome) {
  std::vector<demo::Child> servers;
  for (const char* name : {"server-1", "server-2", "server-3"}) {
    servers.push_back(TRY(context.launcher.server({&scheduler, name, {"20", "50"}})));
  }
  std::vector<double> medians, all;
  for (demo::Child& server : servers) {
    const demo::Serving serving = TRY(context.launcher.served(server, {&trainer}));
    const std::vector<double> latencies = latencies_ms(serving);
    add_known(demo::quantile(latencies, 0.5), medians);
    all.insert(all.end(), latencies.begin(), latencies.end());
  }
  auto slowest =
      at_most("edge", "three servers at once, slowest p50", 50, "ms", demo::quantile(medians, 1));
  slowest.note = tail_text(all);
  outcome.criteria.push_back(std::move(slowest));
  return ok();
}

}  // namespace

Result<Outcome> run_edge(const Context& context) {
  Outcome outcome;
  const demo::Scheduler scheduler = TRY(context.launcher.daemon());
  nothing_to_stop(scheduler, outcome);
  {
    demo::Child early = TRY(context.launcher.server({&scheduler, "early", {"5", "10"}}));
    TRY(context.launcher.served(early));  // online with nobody in its way
  }
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", {}}));
  TRY(twice(context, scheduler, trainer, outcome));
  TRY(everybody_at_once(context, scheduler, trainer, outcome));
  TRY(context.launcher.trained(trainer));
  TRY(ten_as_one(context, scheduler, outcome));
  return outcome;
}

}  // namespace gp::bench
