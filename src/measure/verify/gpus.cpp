// A job that has a program on every GPU, stopped and started as one.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "discover/discover.h"
#include "verify/judge.h"
#include "verify/steps.h"
#include "verify/stops.h"
#include "verify/verify.h"

namespace gp::verify {

namespace {

using namespace std::chrono_literals;

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

}  // namespace

Status run_gpus(Setting& setting, report::Results& results) {
  if (setting.nodes.size() < 2) {
    results.criteria.push_back(
        unjudged(report::kSkipped, "gpus", "a job on all GPUs", "there is one GPU"));
    return ok();
  }
  const discover::Snapshot snapshot = TRY(look_at_users(setting));
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, setting.working.front()));
  std::vector<Load> loads;
  std::string left_out;
  for (unsigned number = 0; number < setting.nodes.size(); ++number) {
    const discover::Node& node = setting.nodes[number];
    if (const std::string why = reason_to_leave_out(setting, snapshot, node); !why.empty()) {
      left_out += fmt::format("; GPU {}: {}", number, why);
      continue;
    }
    LoadOptions options =
        offline_for_best(setting, scheduler, fmt::format("gpu-node-{}", node.node_id));
    options.node = node.node_id;
    options.job = "all-gpus";
    auto load = Load::start(setting, options);
    if (load) {
      loads.push_back(std::move(*load));
    } else if (load.error().code == EINTR) {
      return load.error();
    } else {
      // The driver lists GPUs that a container does not let us use.
      left_out += fmt::format("; GPU {}: {}", number, load.error().what);
    }
  }
  if (loads.size() < 2) {
    results.criteria.push_back(unjudged(report::kSkipped, "gpus", "a job on all GPUs",
                                        "less than two of them can be used" + left_out));
    return ok();
  }
  const Stops stops = TRY(stop_and_start(setting, scheduler, loads,
                                         {one_group_per_cu(setting), 20, fewer_stops(setting)}));
  const std::string name = fmt::format("a job on {} GPUs", loads.size());
  auto& criteria = results.criteria;
  criteria.push_back(tiered("gpus", "stop of " + name, kStopMs, stops.stop_ms, 0.99));
  criteria.back().note += left_out;
  criteria.push_back(tiered("gpus", "start of " + name, kStopMs, stops.start_ms, 0.99));
  criteria.push_back(at_most("gpus", name + ": wrong results", 0, "", stops.wrong_lanes));
  criteria.push_back(
      at_most("gpus", name + ": stops in which a kernel went on", 0, "", stops.moved));
  return ok();
}

}  // namespace gp::verify
