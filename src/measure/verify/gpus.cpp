// A job that has a program on every GPU, stopped and started as one.
#include <fmt/format.h>

#include <cerrno>

#include "verify/judge.h"
#include "verify/steps.h"
#include "verify/stops.h"

namespace gp::verify {

Status run_gpus(Setting& setting, report::Results& results) {
  if (setting.nodes.size() < 2) {
    results.criteria.push_back(
        unjudged(report::kSkipped, "gpus", "a job on all GPUs", "there is one GPU"));
    return ok();
  }
  const demo::Scheduler scheduler = TRY(start_daemon_with(setting, setting.working.front()));
  std::vector<Load> loads;
  std::string left_out;  // the driver lists GPUs that a container does not let us use
  for (const discover::Node& node : setting.nodes) {
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
      left_out += fmt::format("; node {}: {}", node.node_id, load.error().what);
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
