// What a scenario wants to know from the daemon's status.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/scheduler.h"
#include "libc/types.h"

namespace gp::bench {

struct Spread {  // microseconds
  u64 count = 0;
  std::optional<double> p50, p99, max;
};

struct JobView {
  std::string name, state, mechanism;
  int level = 0;
  u64 preemptions = 0, failures = 0;
  std::optional<double> last_stop_us, last_start_us;
  double stopped_us = 0;  // in all
  std::vector<pid_t> pids;
  std::vector<pid_t> with_agent;  // of these, those whose agent has reached the daemon
};

struct DaemonView {
  pid_t daemon = 0;
  std::vector<JobView> jobs;
  Spread notify_to_decision, decision_to_ioctl, notify_to_ioctl, ioctl, busy_to_stopped;

  const JobView* job(const std::string& name) const;
  const JobView* job_of(pid_t pid) const;
};

Result<DaemonView> look_at(const demo::Scheduler& scheduler);

}  // namespace gp::bench
