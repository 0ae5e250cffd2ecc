// A policy is a pure function: what is known now in, what should be done out. No clock, no lock, no
// memory of its own beyond the State the engine keeps for it; so a test is a table of situations.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "discover/snapshot.h"

namespace gp::policy {

using JobId = u64;

enum class JobState { running, stopping, stopped, starting };

// One job as the policy sees it. Times are nanoseconds of CLOCK_MONOTONIC.
struct JobView {
  JobId id = 0;
  discover::WorkClass work_class = discover::WorkClass::normal;
  u32 priority = 7;        // 0..15
  std::vector<u32> nodes;  // gpu_ids it has queues on, sorted
  JobState state = JobState::running;
  bool stoppable = false;                // some mechanism works on all its processes
  std::optional<bool> busy;              // has unfinished GPU work; unknown without an agent
  u64 busy_since_ns = 0;                 // valid if busy
  u64 idle_since_ns = 0;                 // valid if not busy; 0: never was busy
  u64 progress_ns = 0;                   // when a packet of it was last seen to complete
  u64 state_since_ns = 0;                // since when it is in `state`
  u64 stopped_total_ns = 0;              // before the present stop
  std::optional<u64> latency_target_ns;  // declared by the job
  std::optional<u64> burst_ns;           // how long its bursts of work last, a recent average
};

// What stopping and starting costs on a node, measured there.
struct NodeView {
  u32 gpu_id = 0;
  u64 stop_ns = 0;  // recent average; 0: nothing measured yet
  u64 start_ns = 0;
  std::optional<u32> hqds, hqds_active;
};

struct View {
  u64 now_ns = 0;
  std::vector<JobView> jobs;
  std::vector<NodeView> nodes;
};

// Every tunable, declared once in parameters.def with its meaning; config, help and docs follow.
struct Parameters {
  u64 linger_min_ns = 0;           // keep offline stopped at least so long after online went idle
  u64 linger_max_ns = 20'000'000;  // and at most so long, however dear a stop is
  u64 linger_unmeasured_ns = 2'000'000;  // as long as no cost is measured
  u64 max_stop_ns = 30'000'000'000;   // an online job that completes nothing for so long is ignored
  u64 min_run_ns = 0;                 // offline runs at least so long between two stops
  double share = 0.1;                 // `share`: part of the time offline keeps
  u64 share_period_ns = 100'000'000;  // `share`: over which
  double slo_margin = 1.5;            // `slo`: forecast times this must fit into the target
};

struct Decision {
  std::vector<JobId> stop, start;    // only jobs whose state must change
  std::optional<u64> look_again_ns;  // absolute; nothing happens before unless an event comes
};

using Function = Decision (*)(const View& view, const Parameters& parameters);

struct Policy {
  const char* name;
  const char* description;  // one sentence
  Function decide;
};
const std::vector<Policy>& policies();      // strict, share, priority, slo
const Policy* find(std::string_view name);  // nullptr if there is none of that name

}  // namespace gp::policy
