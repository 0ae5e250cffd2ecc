// Programs of one job, stopped and started by hand again and again, and what came of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "bench/daemon_view.h"
#include "bench/held_job.h"
#include "demo/scheduler.h"
#include "verify/load.h"
#include "verify/setting.h"

namespace gp::verify {

struct Stops {
  std::vector<double> stop_ms, start_ms;
  // Of a stop: what is neither the driver's nor the program's, but ours.
  std::vector<double> own_ms;
  bench::Spread driver;     // of its calls, one or more per stop
  unsigned moved = 0;       // stops during which a kernel made progress all the same
  unsigned mid_kernel = 0;  // stops in the middle of a kernel of the first queue
  unsigned kernels = 0;     // of all programs
  double wrong_lanes = 0;
};

// One kernel, stopped for a while: what its waves saw of it.
struct Gap {
  double held_ms = 0;       // from the end of the stop to the begin of the start
  double least_gap_ms = 0;  // every wave of every queue stood still at least that long
  double wrong_lanes = 0;

  bool shows() const { return least_gap_ms >= 0.99 * held_ms && wrong_lanes == 0; }
};

struct StopPlan {
  KernelShape shape;
  double kernel_ms = 20;
  unsigned stops = 1;
};

// Runs offline work in all programs, which are one job, and stops and starts it so often. ENOTSUP,
// with the reason, if nothing here can stop it at all.
Result<Stops> stop_and_start(const Setting& setting, const demo::Scheduler& scheduler,
                             std::vector<Load>& loads, const StopPlan& plan);

Result<Gap> see_the_gap(const Setting& setting, const demo::Scheduler& scheduler, Load& load,
                        const KernelShape& shape, double kernel_ms);

// Where the time of a stop went, to be added to a note.
std::string parts_text(const Stops& stops);

// Until the daemon knows all programs, by their agents if they have any. ENOTSUP if it never does.
Status wait_until_known(const Setting& setting, const demo::Scheduler& scheduler,
                        std::span<Load> loads);

// An agent tells the daemon of queues a moment after they were made: until then nothing is stopped.
Status stop_when_known(const Setting& setting, bench::HeldJob& job, Load& load);

// As the best mechanism of this machine wants offline programs to be started.
LoadOptions offline_for_best(const Setting& setting, const demo::Scheduler& scheduler,
                             const std::string& name);
// Where several things are tried by one mechanism.
unsigned fewer_stops(const Setting& setting);

// So many programs of one job, each with so many queues.
Result<std::vector<Load>> start_loads(const Setting& setting, const LoadOptions& like,
                                      unsigned processes);

}  // namespace gp::verify
