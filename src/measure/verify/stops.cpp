#include "verify/stops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include "bench/daemon_view.h"
#include "bench/held_job.h"
#include "bench/mechanisms.h"
#include "client/client.h"
#include "demo/summary.h"
#include "report/numbers.h"

namespace gp::verify {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
constexpr auto kHoldStill = 1ms;
constexpr auto kRunsAgain = 10s;
constexpr char kJob[] = "verified";
constexpr double kGapHoldMs = 30;

Result<std::vector<double>> progress_of(std::vector<Load>& loads) {
  std::vector<double> all;
  for (Load& load : loads) {
    const std::vector<double> its = TRY(load.progress());
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

// An agent has told the daemon which job its process belongs to. For one without, we do.
Status make_one_job(const Setting& setting, const demo::Scheduler& scheduler,
                    std::vector<Load>& loads) {
  const auto is_one_job = [&] {
    const auto view = bench::look_at(scheduler);
    const bench::JobView* job = view ? view->job_of(loads.front().child().pid()) : nullptr;
    return job != nullptr && job->pids.size() == loads.size();
  };
  if (is_one_job()) {
    return ok();
  }
  auto client = TRY(wire::Client::connect(scheduler.socket()));
  for (Load& load : loads) {
    wire::SetJob request;
    request.pid = static_cast<u32>(load.child().pid());
    std::strncpy(request.job, kJob, sizeof request.job - 1);
    TRY(client.ask(request));
  }
  return setting.waiter.wait("the programs to be one job", {&loads.front().child()}, is_one_job,
                             kRunsAgain);
}

// The daemon knows the queues of every program, and can stop them: each is stopped once.
Status try_each(const Setting& setting, const demo::Scheduler& scheduler,
                std::vector<Load>& loads) {
  for (Load& load : loads) {
    bench::HeldJob job = TRY(bench::HeldJob::of(scheduler, setting.waiter, load.child(), kLease));
    if (Status stopped = stop_when_known(setting, job, load); !stopped) {
      Error& error = stopped.error();
      error.code = error.code == EINTR ? EINTR : ENOTSUP;
      return stopped;
    }
    TRY(job.start());
  }
  return ok();
}

// `seen`: the rounds at which the first queue's kernel stood.
Status stop_once(bench::HeldJob& job, std::vector<Load>& loads, Stops& stops,
                 std::vector<double>& seen) {
  stops.stop_ms.push_back(TRY(job.stop()) / 1000);
  if (const auto us = TRY(job.view()).last_stop_us) {
    stops.own_ms.push_back(std::max(0.0, stops.stop_ms.back() - *us / 1000));
  }
  const std::vector<double> stopped = TRY(progress_of(loads));
  std::this_thread::sleep_for(kHoldStill);
  stops.moved += TRY(progress_of(loads)) != stopped ? 1 : 0;
  TRY(job.start());
  if (const auto us = TRY(job.view()).last_start_us) {
    stops.start_ms.push_back(*us / 1000);
  }
  seen.push_back(stopped.front());
  return ok();
}

}  // namespace

std::string parts_text(const Stops& stops) {
  const auto ms = [](const std::optional<double>& us) {
    return report::format_ms(us ? std::optional(*us / 1000) : std::nullopt);
  };
  return fmt::format(
      "; of it a call of the driver p50 {}, p99 {}; between client and daemon p50 {}",
      ms(stops.driver.p50), ms(stops.driver.p99),
      report::format_ms(demo::quantile(stops.own_ms, 0.5)));
}

Status wait_until_known(const Setting& setting, const demo::Scheduler& scheduler,
                        std::span<Load> loads) {
  const auto is_known = [](const bench::DaemonView& view, Load& load) {
    const pid_t pid = load.child().pid();
    const bench::JobView* job = view.job_of(pid);
    return job != nullptr && (!load.has_agent() || std::ranges::count(job->with_agent, pid) != 0);
  };
  const Status known = setting.waiter.wait(
      "the daemon to know the programs", {&loads.front().child()},
      [&] {
        const auto view = bench::look_at(scheduler);
        return view &&
               std::ranges::all_of(loads, [&](Load& load) { return is_known(*view, load); });
      },
      kRunsAgain);
  return known || known.error().code != ETIMEDOUT
             ? known
             : Error{ENOTSUP, "gpreemptd does not find the program",
                     "its agent does not reach it, and from outside it is not seen"};
}

Status stop_when_known(const Setting& setting, bench::HeldJob& job, Load& load) {
  std::optional<Error> refused;
  TRY(setting.waiter.wait(
      "the daemon to know the queues", {&load.child()},
      [&] {
        auto stopped = job.stop();
        refused = stopped ? std::nullopt : std::optional(std::move(stopped.error()));
        return !refused || refused->code != ESRCH;
      },
      kRunsAgain));
  return refused ? Status(std::move(*refused)) : ok();
}

LoadOptions offline_for_best(const Setting& setting, const demo::Scheduler& scheduler,
                             const std::string& name) {
  LoadOptions options{.name = name, .scheduler = &scheduler};
  for (const bench::MeasuredMechanism& each : bench::measured_mechanisms()) {
    if (each.name == setting.working.front()) {
      options.agent = each.agent;
      options.environment = each.environment;
    }
  }
  return options;
}

unsigned fewer_stops(const Setting& setting) { return std::max(3U, setting.extent.stops / 5); }

Result<std::vector<Load>> start_loads(const Setting& setting, const LoadOptions& like,
                                      unsigned processes) {
  std::vector<Load> loads;
  for (unsigned i = 0; i < processes; ++i) {
    LoadOptions options = like;
    options.job = like.name;
    options.name = fmt::format("{}-{}", like.name, i);
    loads.push_back(TRY(Load::start(setting, options)));
  }
  return loads;
}

Result<Stops> stop_and_start(const Setting& setting, const demo::Scheduler& scheduler,
                             std::vector<Load>& loads, const StopPlan& plan) {
  for (Load& load : loads) {
    TRY(load.begin_offline(plan.shape, plan.kernel_ms));
  }
  TRY(wait_until_known(setting, scheduler, loads));
  TRY(make_one_job(setting, scheduler, loads));
  TRY(try_each(setting, scheduler, loads));
  bench::HeldJob job =
      TRY(bench::HeldJob::of(scheduler, setting.waiter, loads.front().child(), kLease));
  Stops stops;
  std::vector<double> seen;
  for (unsigned i = 0; i < plan.stops; ++i) {
    TRY(loads.front().wait_for_progress(kRunsAgain));
    TRY(stop_once(job, loads, stops, seen));
  }
  TRY(loads.front().wait_for_progress(kRunsAgain));
  stops.driver = TRY(bench::look_at(scheduler)).ioctl;
  for (Load& load : loads) {
    const Reply end = TRY(load.end_offline());
    stops.kernels += static_cast<unsigned>(end.number("kernels"));
    stops.wrong_lanes += end.number("wrong_lanes");
    if (&load == &loads.front()) {
      const double whole = end.number("rounds");
      stops.mid_kernel = static_cast<unsigned>(
          std::ranges::count_if(seen, [&](double at) { return at > 0 && at < whole; }));
    }
  }
  return stops;
}

Result<Gap> see_the_gap(const Setting& setting, const demo::Scheduler& scheduler, Load& load,
                        const KernelShape& shape, double kernel_ms) {
  bench::HeldJob job = TRY(bench::HeldJob::of(scheduler, setting.waiter, load.child(), kLease));
  TRY(load.begin_once(shape, kernel_ms));
  TRY(job.stop());
  const auto stopped = Clock::now();
  std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(kGapHoldMs));
  const std::chrono::duration<double, std::milli> held = Clock::now() - stopped;
  TRY(job.start());
  Gap gap;
  gap.held_ms = held.count();
  for (const Reply& ended : TRY(load.end_once())) {
    const double its = ended.number("least_gap_ms");
    gap.least_gap_ms = gap.least_gap_ms == 0 ? its : std::min(gap.least_gap_ms, its);
    gap.wrong_lanes += ended.number("wrong_lanes");
  }
  return gap;
}

}  // namespace gp::verify
