// A policy is a pure function: what is known now in, what should be done out. No clock, no lock, no
// memory of its own: so a test is a table of situations.
//
// What holds for all of them: a job is stopped as a whole; only jobs that can be stopped and whose
// class allows it are; deciding twice about the same View gives the same, and once a Decision is
// carried out there is nothing more to do before look_again_ns or the next event. Jobs that are up
// and that may neither claim nor be stopped by one that may change nothing: a View without them
// leads to the same Decision.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/work_class.h"
#include "policy/owner.h"

namespace gp::policy {

using JobId = u64;

// What a job is or is on its way to be: a start that waits for a stop under way to end is
// `starting` already.
enum class JobState { running, stopping, stopped, starting };

// One job as the policy sees it. Times are nanoseconds of CLOCK_MONOTONIC.
struct JobView {
  JobId id = 0;
  WorkClass work_class = WorkClass::normal;
  u32 priority = 7;             // 0..15
  Owner owner;                  // whose processes these are
  bool governs_others = false;  // may stop jobs of other owners
  std::vector<u32> nodes;       // gpu_ids it has queues on, sorted
  JobState state = JobState::running;
  bool stoppable = false;                // some mechanism works on all its processes
  bool awaited = false;                  // online work of its own process waits for work of it
  std::optional<bool> busy;              // has unfinished GPU work; unknown if nobody tells
  u64 busy_since_ns = 0;                 // valid if busy
  u64 idle_since_ns = 0;                 // valid if not busy; 0: never was busy
  u64 progress_ns = 0;                   // when a packet of it was last seen to complete
  u64 state_since_ns = 0;                // since when it is up (running, starting) or down
  u64 previous_stop_ns = 0;              // how long the last stop lasted; valid if it is up
  u64 earliest_start_ns = 0;             // before this, a start would exceed the bounded rate
  std::optional<u64> latency_target_ns;  // declared by the job
  std::optional<u64> burst_ns;           // how long its bursts of work last, a recent average
  std::optional<u64> stop_ns;            // how long it takes to stop it, a recent average
  u64 linger_ns = 0;  // how long stops for it outlast its work (linger.h); valid if not busy
};

struct View {
  u64 now_ns = 0;
  std::vector<JobView> jobs;
};

struct Parameters {
#define DURATION(name, value, lowest, highest, meaning) u64 name##_ns = (value);
#define FRACTION(name, value, lowest, highest, meaning) double name = (value);
#define FLAG(name, value, meaning) bool name = (value);
#include "policy/parameters.def"
#undef DURATION
#undef FRACTION
#undef FLAG
};

// One entry of parameters.def, for configuration and documentation. Exactly one field is set.
struct ParameterInfo {
  const char* name;
  const char* meaning;
  double lowest, highest;  // of a duration in nanoseconds; no meaning for a flag
  u64 Parameters::*duration_ns = nullptr;
  double Parameters::*fraction = nullptr;
  bool Parameters::*flag = nullptr;
};
const std::vector<ParameterInfo>& parameter_table();

struct Decision {
  std::vector<JobId> stop, start;    // only jobs whose state must change
  std::optional<u64> look_again_ns;  // absolute; nothing happens before unless an event comes
};

// Whether some policy may stop jobs of this class.
bool is_ever_stopped(WorkClass work_class, const Parameters& parameters);
// Whether others may be stopped, or kept so, because of this job: it is busy, or went idle so
// recently that a stop may linger. Of the view only the activity counts.
bool may_claim(u64 now_ns, const Parameters& parameters, const JobView& job);

using Function = Decision (*)(const View& view, const Parameters& parameters);

struct Policy {
  const char* name;
  const char* description;  // one sentence
  bool watches_all;         // must know of every job whether it is busy, not of online ones only
  Function decide;
};
const std::vector<Policy>& policies();      // strict, share, priority, slo
const Policy* find(std::string_view name);  // nullptr if there is none of that name

Decision strict(const View& view, const Parameters& parameters);
Decision share(const View& view, const Parameters& parameters);
Decision priority(const View& view, const Parameters& parameters);
Decision slo(const View& view, const Parameters& parameters);

}  // namespace gp::policy
