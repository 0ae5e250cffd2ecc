// Requests of an online program, offline work, or both beside each other, and what came of it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/scheduler.h"
#include "report/results.h"
#include "verify/reply.h"
#include "verify/setting.h"

namespace gp::verify {

// Requests so long, one every so often, beside kernels of offline that are so long.
inline constexpr double kRequestMs = 1, kEveryMs = 50, kOfflineKernelMs = 20;
milliseconds patience_for(milliseconds duration);
// The list of a reply.
std::vector<double> in_ms(const Reply& latencies_us);

struct Programs {
  bool online = false, offline = false;
  const demo::Scheduler* scheduler = nullptr;  // none: without gpreempt
  bool offline_agent = true;                   // false: it is found and stopped from outside
  std::map<std::string, std::string> offline_environment = {};
};

struct Beside {
  std::vector<double> latencies_ms;
  std::optional<double> offline_kernels_per_s;
  double offline_s = 0, wrong_lanes = 0;
  u64 preemptions = 0;
  double stopped_s = 0;  // of offline_s, offline stood still because gpreempt had stopped it
  // After the last request: until offline, which may have been stopped for it, made progress.
  std::optional<milliseconds> runs_again;
  // Not as long as it should have been: by the user, or for this reason.
  bool interrupted = false;
  std::optional<Error> failure;
};

// If it ends early, whatever the cause: what was measured until then, if there was anything.
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
Loss loss_of(const Alone& alone, const Beside& both);
report::Criterion loss_criterion(const char* step, const Loss& loss);

// Every phase is kept in the results as soon as it has been measured.
Result<Beside> run_phase(const Setting& setting, report::Results& results, const char* name,
                         const Programs& programs);
Result<Alone> measure_alone(const Setting& setting, report::Results& results, double& wrong_lanes);

}  // namespace gp::verify
