#include "verify/online.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <thread>

#include "bench/daemon_view.h"
#include "demo/summary.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/load.h"
#include "verify/steps.h"

namespace gp::verify {
namespace {

constexpr char kOnlineStep[] = "online";
constexpr double kRequestMs = 1, kEveryMs = 50, kOfflineKernelMs = 20;
constexpr unsigned kWarmUps = 3;

Status serve(Load& online, const Setting& setting, milliseconds duration, Beside& beside) {
  const KernelShape shape = one_group_per_cu(setting);
  TRY(online.begin_online(shape, kRequestMs, kEveryMs, kWarmUps));
  TRY(online.end_online());
  const auto requests = static_cast<unsigned>(static_cast<double>(duration.count()) / kEveryMs);
  TRY(online.begin_online(shape, kRequestMs, kEveryMs, std::max(1U, requests)));
  auto ended = online.end_online();
  if (!ended && setting.waiter.is_ended()) {
    beside.interrupted = true;
    ended = online.last_words("online");
  }
  const Reply served = TRY(std::move(ended));
  for (const double us : served.list) {
    beside.latencies_ms.push_back(us / 1000);
  }
  beside.wrong_lanes += served.number("wrong_lanes");
  return ok();
}

Status pass_time(const Setting& setting, Load& running, milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  return setting.waiter.wait(
      "time to pass", {&running.child()}, [&] { return std::chrono::steady_clock::now() >= end; },
      duration + std::chrono::minutes(1));
}

std::string quantiles_text(const char* name, const Beside& beside) {
  return fmt::format("{} p50 {}, p99 {}", name,
                     report::format_ms(demo::quantile(beside.latencies_ms, 0.5)),
                     report::format_ms(demo::quantile(beside.latencies_ms, 0.99)));
}

report::Criterion loss_criterion(const Loss& loss) {
  report::Criterion criterion =
      at_most(kOnlineStep, "offline throughput lost beyond online's own time", kLossPercent, "%",
              loss.beyond_online);
  // Stopped for longer than online worked: the linger. Less was stopped than was lost: it ran
  // slower.
  criterion.note = loss.plain ? fmt::format(
                                    "lost in all {:.1f} %; offline was stopped for {:.1f} % "
                                    "of the time, online had {:.1f} %",
                                    *loss.plain, *loss.stopped, *loss.online_part)
                              : "";
  return criterion;
}

}  // namespace

Result<Beside> run_beside(const Setting& setting, const Programs& programs, milliseconds duration) {
  Beside beside;
  std::optional<Load> offline, online;
  if (programs.offline) {
    offline.emplace(TRY(Load::start(setting, {.name = "offline",
                                              .scheduler = programs.scheduler,
                                              .environment = programs.offline_environment})));
  }
  if (programs.online) {
    online.emplace(TRY(Load::start(
        setting, {.name = "online", .scheduler = programs.scheduler, .work_class = "online"})));
  }
  if (offline) {
    TRY(offline->begin_offline(whole_gpu(setting), kOfflineKernelMs));
  }
  if (online) {
    TRY(serve(*online, setting, duration, beside));
  } else {
    const Status passed = pass_time(setting, *offline, duration);
    beside.interrupted = !passed && setting.waiter.is_ended();
    if (!passed && !beside.interrupted) {
      return passed.error();
    }
  }
  if (offline) {
    if (programs.scheduler != nullptr) {
      const bench::DaemonView view = TRY(bench::look_at(*programs.scheduler));
      if (const bench::JobView* job = view.job("offline")) {
        beside.preemptions = job->preemptions;
        beside.stopped_s = job->stopped_us / 1e6;
      }
    }
    const Reply end =
        TRY(beside.interrupted ? offline->last_words("offline") : offline->end_offline());
    beside.offline_s = end.number("seconds");
    beside.offline_kernels_per_s = report::ratio(end.number("kernels"), beside.offline_s);
    beside.wrong_lanes += end.number("wrong_lanes");
  }
  return beside;
}

report::Phase phase_of(const char* name, const Beside& beside) {
  report::Phase phase;
  phase.name = name;
  phase.online_latency_ms = beside.latencies_ms;
  for (std::size_t i = 0; i < beside.latencies_ms.size(); ++i) {
    phase.online_arrival_ms.push_back(kEveryMs * static_cast<double>(i));
  }
  phase.offline_steps_per_s = beside.offline_kernels_per_s;
  phase.preemptions = beside.preemptions;
  if (beside.offline_kernels_per_s) {
    phase.checksum_ok = beside.wrong_lanes == 0;
  }
  phase.duration_s = beside.offline_s > 0
                         ? beside.offline_s
                         : kEveryMs * static_cast<double>(beside.latencies_ms.size()) / 1000;
  return phase;
}

Loss loss_of(const Beside& online_alone, const Beside& offline_alone, const Beside& both) {
  const auto left = report::ratio(both.offline_kernels_per_s, offline_alone.offline_kernels_per_s);
  const auto request_ms = demo::quantile(online_alone.latencies_ms, 0.5);
  if (!left || !request_ms || both.offline_s <= 0) {
    return {};
  }
  const double online_part =
      *request_ms / 1000 * static_cast<double>(both.latencies_ms.size()) / both.offline_s;
  Loss loss;
  loss.plain = 100 * (1 - *left);
  loss.online_part = 100 * online_part;
  loss.stopped = 100 * both.stopped_s / both.offline_s;
  if (online_part < 1) {
    loss.beyond_online = 100 * (1 - *left / (1 - online_part));
  }
  return loss;
}

Status run_online(Setting& setting, report::Results& results) {
  // Each is kept as soon as it has been measured.
  const auto run = [&](const char* name, const Programs& programs) -> Result<Beside> {
    Beside beside = TRY(run_beside(setting, programs, setting.extent.phase));
    results.phases.push_back(phase_of(name, beside));
    return beside.interrupted ? Result<Beside>(Error{EINTR, name, ""}) : std::move(beside);
  };
  const Beside online_alone = TRY(run(report::kOnlineAlone, {.online = true}));
  const Beside offline_alone = TRY(run(report::kOfflineAlone, {.offline = true}));
  const Beside without = TRY(run(report::kBothWithout, {.online = true, .offline = true}));
  const demo::Scheduler scheduler = TRY(start_daemon(setting));
  const Beside with =
      TRY(run(report::kBothWith, {.online = true, .offline = true, .scheduler = &scheduler}));

  auto& criteria = results.criteria;
  criteria.push_back(tiered(kOnlineStep, "online p99 beside offline, with gpreempt", kOnlineMs,
                            with.latencies_ms, 0.99));
  criteria.back().note += fmt::format("; {}; {}", quantiles_text("alone", online_alone),
                                      quantiles_text("without gpreempt", without));
  criteria.push_back(loss_criterion(loss_of(online_alone, offline_alone, with)));
  criteria.push_back(
      at_least(kOnlineStep, "stops of offline", 1, "", static_cast<double>(with.preemptions)));
  criteria.push_back(at_most(kOnlineStep, "wrong results, online and offline", 0, "",
                             online_alone.wrong_lanes + offline_alone.wrong_lanes +
                                 without.wrong_lanes + with.wrong_lanes));
  return ok();
}

}  // namespace gp::verify
