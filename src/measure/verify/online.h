// Requests of an online program, offline work, or both beside each other, and what came of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/scheduler.h"
#include "report/results.h"
#include "verify/setting.h"

namespace gp::verify {

struct Programs {
  bool online = false, offline = false;
  const demo::Scheduler* scheduler = nullptr;  // none: without gpreempt
  std::map<std::string, std::string> offline_environment = {};
};

struct Beside {
  std::vector<double> latencies_ms;
  std::optional<double> offline_kernels_per_s;
  double offline_s = 0, wrong_lanes = 0;
  u64 preemptions = 0;
  double stopped_s = 0;      // of offline_s, offline stood still because gpreempt had stopped it
  bool interrupted = false;  // by the user: not as long as it should have been
};

// If the user ends it: what was measured until then, if there was anything.
Result<Beside> run_beside(const Setting& setting, const Programs& programs, milliseconds duration);

// As the report shows it.
report::Phase phase_of(const char* name, const Beside& beside);

// Part of offline's throughput that is gone, in percent: all of it, and beyond the time in which
// online had the GPU.
struct Loss {
  std::optional<double> plain, beyond_online;
  // Where it went, in percent of all: offline was stopped, and online had the GPU.
  std::optional<double> stopped, online_part;
};
Loss loss_of(const Beside& online_alone, const Beside& offline_alone, const Beside& both);

}  // namespace gp::verify
