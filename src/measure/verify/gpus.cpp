// A job that has a program on every GPU, stopped and started as one; then online beside offline on
// every GPU at once.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bench/daemon_view.h"
#include "demo/summary.h"
#include "discover/discover.h"
#include "verify/judge.h"
#include "verify/online.h"
#include "verify/steps.h"
#include "verify/stops.h"
#include "verify/verify.h"

namespace gp::verify {

namespace {

using namespace std::chrono_literals;
constexpr char kGpusStep[] = "gpus";

// Others, that is: programs of the steps before this one may still be listed.
std::vector<std::string> others_on(const Setting& setting, const discover::Snapshot& snapshot,
                                   const discover::Node& node) {
  std::vector<std::string> users = users_of(snapshot, node.gpu_id);
  std::erase_if(
      users, [&](const std::string& user) { return user.find(setting.mark) != std::string::npos; });
  return users;
}

// As it is now: verify has looked at one GPU only before it began, and that was a while ago. What
// the driver still has of a program of ours that was killed goes away by itself.
Result<discover::Snapshot> look_at_users(const Setting& setting) {
  Result<discover::Snapshot> snapshot = Error{ENODATA, "the driver's lists", ""};
  const Status alone = setting.waiter.wait(
      "the driver's lists", {},
      [&] {
        snapshot = discover::take_snapshot(system_os(), {}, {}, {});
        return !snapshot || others_on(setting, *snapshot, setting.node).empty();
      },
      1s);
  return !alone && alone.error().code == EINTR ? Result<discover::Snapshot>(alone.error())
                                               : std::move(snapshot);
}

// Why this GPU has to be left alone; empty: it has not.
std::string reason_to_leave_out(const Setting& setting, const discover::Snapshot& snapshot,
                                const discover::Node& node) {
  const std::vector<std::string> users = others_on(setting, snapshot, node);
  return setting.share || users.empty()
             ? ""
             : fmt::format("in use by {}; --yes shares it", fmt::join(users, ", "));
}

struct Usable {
  std::vector<const discover::Node*> nodes;
  std::string left_out;  // "; GPU 3: in use by ..."
};

// A program of the job on each GPU that may be used. The driver lists GPUs that a container does
// not let us use: those are left out.
Result<std::vector<Load>> start_on_all(const Setting& setting, const demo::Scheduler& scheduler,
                                       Usable& usable) {
  const discover::Snapshot snapshot = TRY(look_at_users(setting));
  std::vector<Load> loads;
  for (unsigned number = 0; number < setting.nodes.size(); ++number) {
    const discover::Node& node = setting.nodes[number];
    if (const std::string why = reason_to_leave_out(setting, snapshot, node); !why.empty()) {
      usable.left_out += fmt::format("; GPU {}: {}", number, why);
      continue;
    }
    LoadOptions options =
        offline_for_best(setting, scheduler, fmt::format("gpu-node-{}", node.node_id));
    options.node = node.node_id;
    options.job = "all-gpus";
    auto load = Load::start(setting, options);
    if (load) {
      loads.push_back(std::move(*load));
      usable.nodes.push_back(&node);
    } else if (load.error().code == EINTR) {
      return load.error();
    } else {
      usable.left_out += fmt::format("; GPU {}: {}", number, load.error().what);
    }
  }
  return loads;
}

void judge_job(const Stops& stops, const Usable& usable, report::Results& results) {
  const std::string name = fmt::format("a job on {} GPUs", usable.nodes.size());
  auto& criteria = results.criteria;
  criteria.push_back(tiered(kGpusStep, "stop of " + name, kStopMs, stops.stop_ms, 0.99));
  criteria.back().note += usable.left_out;
  criteria.push_back(tiered(kGpusStep, "start of " + name, kStopMs, stops.start_ms, 0.99));
  criteria.push_back(at_most(kGpusStep, name + ": wrong results", 0, "", stops.wrong_lanes));
  criteria.push_back(
      at_most(kGpusStep, name + ": stops in which a kernel went on", 0, "", stops.moved));
}

// One GPU of those that all work at once.
struct Pair {
  Load offline, online;
};

Result<Pair> start_pair(const Setting& setting, const demo::Scheduler& scheduler,
                        const discover::Node& node) {
  LoadOptions offline =
      offline_for_best(setting, scheduler, fmt::format("offline-node-{}", node.node_id));
  offline.node = node.node_id;
  Pair pair{TRY(Load::start(setting, offline)),
            TRY(Load::start(setting, {.name = fmt::format("online-node-{}", node.node_id),
                                      .scheduler = &scheduler,
                                      .work_class = "online",
                                      .node = node.node_id}))};
  TRY(pair.offline.begin_offline(one_group_per_cu(setting), kOfflineKernelMs));
  TRY(wait_until_known(setting, scheduler, std::span(&pair.offline, 1)));
  return pair;
}

// Of all pairs: that of the GPU that is worst off.
struct Worst {
  std::vector<double> latencies_ms;
  double p99_ms = 0, stops = HUGE_VAL, wrong_lanes = 0;
};

Status end_pair(const Setting& setting, const demo::Scheduler& scheduler, Pair& pair,
                Worst& worst) {
  const Reply served =
      TRY(pair.online.end_online(patience_for(setting.extent.phase), {&pair.offline}));
  std::vector<double> latencies_ms = in_ms(served);
  const double p99_ms = demo::quantile(latencies_ms, 0.99).value_or(0);
  if (p99_ms >= worst.p99_ms) {
    worst.p99_ms = p99_ms;
    worst.latencies_ms = std::move(latencies_ms);
  }
  const bench::DaemonView view = TRY(bench::look_at(scheduler));
  const bench::JobView* job = view.job_of(pair.offline.child().pid());
  worst.stops = std::min(worst.stops, job != nullptr ? static_cast<double>(job->preemptions) : 0);
  const Reply end = TRY(pair.offline.end_offline());
  worst.wrong_lanes += served.number("wrong_lanes") + end.number("wrong_lanes");
  return ok();
}

// Online beside offline on every GPU, all at the same time, under one daemon.
Status measure_pairs(const Setting& setting, const Usable& usable, report::Results& results) {
  const demo::Scheduler scheduler = TRY(start_daemon(setting));
  std::vector<Pair> pairs;
  for (const discover::Node* node : usable.nodes) {
    pairs.push_back(TRY(start_pair(setting, scheduler, *node)));
  }
  const auto requests =
      static_cast<unsigned>(static_cast<double>(setting.extent.phase.count()) / 2 / kEveryMs);
  for (Pair& pair : pairs) {
    TRY(pair.online.begin_online(one_group_per_cu(setting), kRequestMs, kEveryMs,
                                 std::max(1U, requests)));
  }
  Worst worst;
  for (Pair& pair : pairs) {
    TRY(end_pair(setting, scheduler, pair, worst));
  }
  const std::string name = fmt::format("online beside offline on {} GPUs at once", pairs.size());
  auto& criteria = results.criteria;
  criteria.push_back(
      tiered(kGpusStep, name + ": p99 on the slowest", kOnlineMs, worst.latencies_ms, 0.99));
  criteria.push_back(at_least(kGpusStep, name + ": stops of offline on each", 1, "", worst.stops));
  criteria.push_back(at_most(kGpusStep, name + ": wrong results", 0, "", worst.wrong_lanes));
  return ok();
}

}  // namespace

Status run_gpus(Setting& setting, report::Results& results) {
  if (setting.nodes.size() < 2) {
    results.criteria.push_back(
        unjudged(report::kSkipped, kGpusStep, "a job on all GPUs", "there is one GPU"));
    return ok();
  }
  Usable usable;
  {
    const demo::Scheduler scheduler = TRY(start_daemon_with(setting, setting.working.front()));
    std::vector<Load> loads = TRY(start_on_all(setting, scheduler, usable));
    if (loads.size() < 2) {
      results.criteria.push_back(unjudged(report::kSkipped, kGpusStep, "a job on all GPUs",
                                          "less than two of them can be used" + usable.left_out));
      return ok();
    }
    const Stops stops = TRY(stop_and_start(setting, scheduler, loads,
                                           {one_group_per_cu(setting), 20, fewer_stops(setting)}));
    judge_job(stops, usable, results);
  }
  return measure_pairs(setting, usable, results);
}

}  // namespace gp::verify
