// How long gpreempt itself takes from online's first packet to the stop, and whether clients that
// do nothing make it slower.
#include <fmt/format.h>

#include <algorithm>

#include "bench/criteria.h"
#include "bench/daemon_view.h"
#include "bench/idle_clients.h"
#include "bench/mechanisms.h"
#include "bench/scenario.h"
#include "bench/wake_floor.h"

namespace gp::bench {
namespace {

using namespace std::chrono_literals;

struct Case {
  unsigned idle_clients;
  Words trainer;
  milliseconds briefly = 4s;
  bool by_kernel = false;  // else by what a stock driver has
};

Result<demo::Scheduler> start_daemon(const Context& context, const Case& each) {
  for (const MeasuredMechanism& mechanism : measured_mechanisms()) {
    if (each.by_kernel && mechanism.name == std::string_view("kernel")) {
      return context.launcher.daemon_with(mechanism);
    }
  }
  return context.launcher.daemon("connections_per_user = 1000\n");
}

Result<DaemonView> measure(const Context& context, const Case& each) {
  // Often enough that a p99 is more than the worst one or two.
  const milliseconds interval = 12ms, duration = context.lasting(each.briefly, 30s);
  const demo::Scheduler scheduler = TRY(start_daemon(context, each));
  const IdleClients clients = TRY(IdleClients::start(each.idle_clients, scheduler.socket()));
  demo::Child trainer = TRY(context.launcher.trainer({&scheduler, "trainer", each.trainer}));
  demo::Child server =
      TRY(context.launcher.server({&scheduler, "server", requests_every(interval, duration)}));
  TRY(context.launcher.served(server, {&trainer}));
  return look_at(scheduler);
}

// The same chain without gpreempt, beside the same offline work.
Result<WakeFloor> floor_here(const Context& context) {
  demo::Child trainer = TRY(context.launcher.trainer({nullptr, "trainer", one_work_group()}));
  constexpr milliseconds pause = 6ms;
  const auto times = static_cast<int>(context.lasting(2s, 30s) / (2 * pause));
  return measure_two_wake_ups(times, pause);
}

std::string parts_of(const DaemonView& view) {
  return fmt::format("to the decision {} / {}, then to the ioctl {} / {}; {} stops",
                     report::format_us(view.notify_to_decision.p50),
                     report::format_us(view.notify_to_decision.p99),
                     report::format_us(view.decision_to_ioctl.p50),
                     report::format_us(view.decision_to_ioctl.p99), view.decision_to_ioctl.count);
}

}  // namespace

Result<Outcome> run_notice(const Context& context) {
  const Words saturating = {};
  const WakeFloor floor = TRY(floor_here(context));
  const DaemonView one = TRY(measure(context, {1, one_work_group()}));
  const DaemonView many = TRY(measure(context, {64, one_work_group()}));
  const DaemonView again = TRY(measure(context, {1, one_work_group()}));
  const DaemonView by_kernel = TRY(measure(context, {1, one_work_group(), 4s, true}));
  const DaemonView loaded = TRY(measure(context, {1, saturating, 2s}));

  Outcome outcome;
  const auto add = [&](const char* what, double limit, std::optional<double> value,
                       const DaemonView& view) {
    auto criterion = at_most("notice", what, limit, "us", value);
    criterion.note =
        fmt::format("{}; here two bare wake-ups take {:.0f} / {:.0f} us beside the same work",
                    parts_of(view), floor.p50, floor.p99);
    outcome.criteria.push_back(std::move(criterion));
  };
  add("notice to stop ioctl, p50", 50, one.notify_to_ioctl.p50, one);
  add("notice to stop ioctl, p99", 300, one.notify_to_ioctl.p99, one);
  add("with 64 idle clients, p50", 50, many.notify_to_ioctl.p50, many);
  add("with 64 idle clients, p99", 300, many.notify_to_ioctl.p99, many);
  if (by_kernel.decision_to_ioctl.count > 0) {  // the driver has our patches
    add("by the mechanism kernel, p50", 50, by_kernel.notify_to_ioctl.p50, by_kernel);
    add("by the mechanism kernel, p99", 300, by_kernel.notify_to_ioctl.p99, by_kernel);
  }
  // Against the mean of the runs before and after, as in `beside`.
  const auto before = one.notify_to_ioctl.p50, after = again.notify_to_ioctl.p50;
  const auto noise = apart(before, after);
  auto flat = at_most("notice", "64 idle clients over 1, p50", std::max(1.25, noise.value_or(0)),
                      "x", report::ratio(many.notify_to_ioctl.p50, mean(before, after)));
  flat.noise = noise;
  outcome.criteria.push_back(std::move(flat));
  auto busy = at_most("notice", "with all cores busy, p50 (reported)", 1e6, "us",
                      loaded.notify_to_ioctl.p50);
  busy.note = parts_of(loaded);
  outcome.criteria.push_back(std::move(busy));
  return outcome;
}

}  // namespace gp::bench
