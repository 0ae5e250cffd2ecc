// Situations for the policies, built in a few words: time is in milliseconds here.
#pragma once

#include <gtest/gtest.h>

#include "policy/policy.h"

namespace gp::policy {

using Jobs = std::vector<JobId>;

constexpr u64 kMs = 1'000'000;
constexpr u64 kStartMs = 1'000'000;  // no time in the tests is near 0

inline u64 at(u64 ms) { return (kStartMs + ms) * kMs; }

inline JobView online(JobId id) {
  JobView job;
  job.id = id;
  job.work_class = WorkClass::online;
  job.priority = 12;
  job.nodes = {1};
  job.busy = false;
  return job;
}
inline JobView busy(JobView job, u64 since_ms) {
  job.busy = true;
  job.busy_since_ns = at(since_ms);
  job.progress_ns = at(since_ms);
  return job;
}
// Stops for it linger for 5 ms.
inline JobView idle(JobView job, u64 since_ms) {
  job.busy = false;
  job.idle_since_ns = at(since_ms);
  job.linger_ns = 5 * kMs;
  return job;
}
inline JobView offline(JobId id) {
  JobView job;
  job.id = id;
  job.work_class = WorkClass::offline;
  job.priority = 3;
  job.nodes = {1};
  job.stoppable = true;
  job.state_since_ns = 0;
  job.stop_ns = 3 * kMs;
  return job;
}
inline JobView in_state(JobView job, JobState state, u64 since_ms) {
  job.state = state;
  job.state_since_ns = at(since_ms);
  return job;
}
inline JobView stopped(JobView job, u64 since_ms) {
  return in_state(std::move(job), JobState::stopped, since_ms);
}
inline JobView on(JobView job, std::vector<u32> nodes) {
  job.nodes = std::move(nodes);
  return job;
}
inline JobView level(JobView job, u32 priority) {
  job.priority = priority;
  return job;
}

inline View view(u64 now_ms, std::vector<JobView> jobs) {
  return View{at(now_ms), std::move(jobs)};
}

}  // namespace gp::policy
