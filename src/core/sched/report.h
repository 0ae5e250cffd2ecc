// What `gpreempt status` shows: a copy of the engine's tables, for printing.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "discover/snapshot.h"
#include "policy/linger.h"
#include "policy/policy.h"

namespace gp::sched {

struct ProcessReport {
  pid_t pid = 0;
  uid_t uid = 0;
  std::string command, tag;
  std::optional<std::string> part;  // the class of the queues that are meant; empty: the rest
  bool has_agent = false;
  std::string agent_refusal;  // why it has none although one was loaded
  std::optional<bool> busy;
  bool rings_are_read = false;     // of these `busy` is known, not by an agent
  bool work_unseen = false;        // online, and nobody can tell when it has work
  std::string why_rings_not_read;  // though that was wanted
  std::string state;
  std::optional<std::string> mechanism;  // in effect, or the one that would be used
  std::optional<u32> level;
  std::vector<std::string> not_better;  // "self-debug: why it does not work"
};

struct JobReport {
  policy::JobId id = 0;
  std::string name;
  uid_t owner = 0;
  bool governs_others = false;
  WorkClass work_class = WorkClass::normal;
  u32 priority = 7;
  std::string state;
  std::vector<u32> gpu_ids;
  std::optional<bool> busy;
  std::vector<ProcessReport> processes;
  std::optional<std::string> mechanism;  // the weakest of its processes
  std::optional<u32> level;
  std::string error;       // why it cannot be stopped; empty if it can or was not tried
  bool held = false;       // stopped because a client asked for it
  bool made_room = false;  // stopped because it is idle and slots are short
  u64 preemptions = 0, failures = 0;
  u64 stopped_total_ns = 0;
  std::optional<u64> last_stop_ns, last_start_ns;
  // How long stops for it outlast its work, and the gaps between its bursts of work. Empty if it
  // has had none.
  std::optional<policy::LingerPlan> linger;
  u32 gaps = 0;
  std::optional<u64> gap_p50_ns, gap_p90_ns;
};

struct NodeReport {
  u32 gpu_id = 0, node_id = 0;
  std::string name;
  std::optional<u32> hqds;
  u32 compute_queues = 0;  // that are known and not stopped
  bool slots_low = false;
  std::optional<u64> stop_ns, start_ns;
  std::vector<policy::JobId> running;  // jobs that may run there
};

struct LatencyReport {
  u64 count = 0;
  std::optional<u64> p50_ns, p99_ns, max_ns;
};

struct Report {
  std::string policy;
  std::vector<JobReport> jobs;
  std::vector<NodeReport> nodes;
  LatencyReport notify_to_decision, decision_to_ioctl, notify_to_ioctl, ioctl, busy_to_stopped;
};

}  // namespace gp::sched
