#include "verify/online.h"

#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <span>

#include "bench/daemon_view.h"
#include "demo/summary.h"
#include "report/numbers.h"
#include "verify/judge.h"
#include "verify/load.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {
namespace {

constexpr char kOnlineStep[] = "online";
constexpr unsigned kWarmUps = 3;

// The end comes early if the user wants it, and if one of the programs dies or hangs: what was
// measured until then counts.
Result<Reply> requests_of(Load& online, const std::vector<Load*>& beside, const Setting& setting,
                          milliseconds duration, Beside& measured) {
  auto ended = online.end_online(patience_for(duration), beside);
  if (ended) {
    return ended;
  }
  measured.interrupted = setting.waiter.is_ended();
  if (!measured.interrupted) {
    measured.failure = ended.error();
  }
  auto until_then = online.last_words("online");
  return until_then ? std::move(until_then) : std::move(ended);
}

Status serve(Load& online, const std::vector<Load*>& beside, const Setting& setting,
             milliseconds duration, Beside& measured) {
  const KernelShape shape = one_group_per_cu(setting);
  TRY(online.begin_online(shape, kRequestMs, kEveryMs, kWarmUps));
  TRY(online.end_online(patience_for({}), beside));
  const auto requests = static_cast<unsigned>(static_cast<double>(duration.count()) / kEveryMs);
  TRY(online.begin_online(shape, kRequestMs, kEveryMs, std::max(1U, requests)));
  const Reply served = TRY(requests_of(online, beside, setting, duration, measured));
  measured.latencies_ms = in_ms(served);
  measured.wrong_lanes += served.number("wrong_lanes");
  return ok();
}

Status pass_time(Load& running, const Setting& setting, milliseconds duration, Beside& measured) {
  const auto end = std::chrono::steady_clock::now() + duration;
  const Status passed = setting.waiter.wait(
      "time to pass", {&running.child()}, [&] { return std::chrono::steady_clock::now() >= end; },
      duration + std::chrono::minutes(1));
  measured.interrupted = !passed && setting.waiter.is_ended();
  return passed || measured.interrupted ? ok() : passed;
}

// The daemon, or offline, may be gone: then it is not known.
void ask_the_daemon(const demo::Scheduler& scheduler, Load& offline, Beside& measured) {
  const auto view = bench::look_at(scheduler);
  if (const bench::JobView* job = view ? view->job_of(offline.child().pid()) : nullptr) {
    measured.preemptions = job->preemptions;
    measured.stopped_s = job->stopped_us / 1e6;
  }
}

Status end_offline(Load& offline, const Programs& programs, Beside& measured) {
  if (programs.scheduler != nullptr) {
    ask_the_daemon(*programs.scheduler, offline, measured);
  }
  const bool early = measured.interrupted || measured.failure;
  if (programs.scheduler != nullptr && !early) {
    const auto runs_again = offline.wait_for_progress(kRunsAgainAtMost);
    measured.runs_again = runs_again ? std::optional(*runs_again) : std::nullopt;
  }
  const bool moves = programs.scheduler == nullptr || early || measured.runs_again;
  const Reply end = TRY(early || !moves ? offline.last_words("offline") : offline.end_offline());
  measured.offline_s = end.number("seconds");
  measured.offline_kernels_per_s = report::ratio(end.number("kernels"), measured.offline_s);
  measured.wrong_lanes += end.number("wrong_lanes");
  return ok();
}

}  // namespace

// Requests that wait for each other take longer than the time between them.
milliseconds patience_for(milliseconds duration) { return 2 * duration + std::chrono::minutes(5); }

std::vector<double> in_ms(const Reply& latencies_us) {
  std::vector<double> ms;
  ms.reserve(latencies_us.list.size());
  for (const double us : latencies_us.list) {
    ms.push_back(us / 1000);
  }
  return ms;
}

report::Criterion loss_criterion(const char* step, const Loss& loss) {
  report::Criterion criterion = at_most(step, "offline throughput lost beyond online's own time",
                                        kLossPercent, "%", loss.beyond_online);
  // Stopped for longer than online worked: the linger. Less was stopped than was lost: it ran
  // slower.
  criterion.note = loss.plain ? fmt::format(
                                    "lost in all {:.1f} %; offline was stopped for {:.1f} % "
                                    "of the time, online had {:.1f} %",
                                    *loss.plain, *loss.stopped, *loss.online_part)
                              : "";
  return criterion;
}

Result<Beside> run_beside(const Setting& setting, const Programs& programs, milliseconds duration) {
  Beside measured;
  std::optional<Load> offline, online;
  if (programs.offline) {
    offline.emplace(TRY(Load::start(setting, {.name = "offline",
                                              .scheduler = programs.scheduler,
                                              .agent = programs.offline_agent,
                                              .environment = programs.offline_environment})));
  }
  if (programs.online) {
    online.emplace(TRY(Load::start(
        setting, {.name = "online", .scheduler = programs.scheduler, .work_class = "online"})));
  }
  std::vector<Load*> beside_online;
  if (offline) {
    TRY(offline->begin_offline(whole_gpu(setting), kOfflineKernelMs));
    if (programs.scheduler != nullptr) {
      TRY(wait_until_known(setting, *programs.scheduler, std::span(&*offline, 1)));
    }
    beside_online.push_back(&*offline);
  }
  TRY(online ? serve(*online, beside_online, setting, duration, measured)
             : pass_time(*offline, setting, duration, measured));
  if (offline) {
    // One that has died has nothing to say, and does not take the latencies with it.
    const Status ended = end_offline(*offline, programs, measured);
    if (!ended && !measured.failure && !measured.interrupted) {
      measured.failure = ended.error();
    }
  }
  return measured;
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

Loss loss_of(const Alone& alone, const Beside& both) {
  const auto left = report::ratio(both.offline_kernels_per_s, alone.offline_kernels_per_s);
  if (!left || !alone.request_ms || both.offline_s <= 0) {
    return {};
  }
  const double online_part =
      *alone.request_ms / 1000 * static_cast<double>(both.latencies_ms.size()) / both.offline_s;
  Loss loss;
  loss.plain = 100 * (1 - *left);
  loss.online_part = 100 * online_part;
  loss.stopped = 100 * both.stopped_s / both.offline_s;
  if (online_part < 1) {
    loss.beyond_online = 100 * (1 - *left / (1 - online_part));
  }
  return loss;
}

Result<Beside> run_phase(const Setting& setting, report::Results& results, const char* name,
                         const Programs& programs) {
  Beside beside = TRY(run_beside(setting, programs, setting.extent.phase));
  results.phases.push_back(phase_of(name, beside));
  if (beside.failure) {
    return *beside.failure;
  }
  return beside.interrupted ? Result<Beside>(Error{EINTR, name, ""}) : std::move(beside);
}

Result<Alone> measure_alone(const Setting& setting, report::Results& results, double& wrong_lanes) {
  const Beside online = TRY(run_phase(setting, results, report::kOnlineAlone, {.online = true}));
  const Beside offline = TRY(run_phase(setting, results, report::kOfflineAlone, {.offline = true}));
  wrong_lanes += online.wrong_lanes + offline.wrong_lanes;
  return Alone{demo::quantile(online.latencies_ms, 0.5), demo::quantile(online.latencies_ms, 0.99),
               offline.offline_kernels_per_s};
}

Status run_online(Setting& setting, report::Results& results) {
  double wrong_lanes = 0;
  setting.alone = TRY(measure_alone(setting, results, wrong_lanes));
  const Beside without =
      TRY(run_phase(setting, results, report::kBothWithout, {.online = true, .offline = true}));
  const demo::Scheduler scheduler = TRY(start_daemon(setting));
  const Beside with = TRY(run_phase(setting, results, report::kBothWith,
                                    {.online = true, .offline = true, .scheduler = &scheduler}));

  auto& criteria = results.criteria;
  criteria.push_back(tiered(kOnlineStep, "online p99 beside offline, with gpreempt", kOnlineMs,
                            with.latencies_ms, 0.99));
  criteria.back().note +=
      fmt::format("; alone p50 {}, p99 {}; without gpreempt p50 {}, p99 {}",
                  report::format_ms(setting.alone->request_ms),
                  report::format_ms(setting.alone->request_p99_ms),
                  report::format_ms(demo::quantile(without.latencies_ms, 0.5)),
                  report::format_ms(demo::quantile(without.latencies_ms, 0.99)));
  criteria.push_back(loss_criterion(kOnlineStep, loss_of(*setting.alone, with)));
  criteria.push_back(
      at_least(kOnlineStep, "stops of offline", 1, "", static_cast<double>(with.preemptions)));
  criteria.push_back(at_most(kOnlineStep, "wrong results, online and offline", 0, "",
                             wrong_lanes + without.wrong_lanes + with.wrong_lanes));
  return ok();
}

}  // namespace gp::verify
