// What the workloads write (examples/trainer.hip, examples/server.hip, --json FILE, and
// gpreempt-llm-client). Times are CLOCK_MONOTONIC, the same for all processes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "libc/types.h"

namespace gp::demo {

struct TrailPoint {
  u64 step = 0;
  u64 time_us = 0;
  std::string checksum;  // of all weights after that step
};

struct Training {
  u64 start_us = 0;
  std::vector<TrailPoint> trail;
};

struct Request {
  u64 arrival_us = 0;  // as intended, from the start
  u64 latency_us = 0;  // from then on
  // Of a language model: when each token came, from the arrival on, and what it said.
  std::vector<u64> token_us = {};
  std::vector<i64> tokens = {};
  std::string text = {};
};

struct Serving {
  u64 start_us = 0;
  std::vector<Request> requests;
  std::string hip_runtime;  // empty: it does not tell

  u64 end_us() const;  // when the last request was answered
};

// EPROTO if the file is not what the workload writes.
Result<Training> read_training(const std::string& path);
Result<Serving> read_serving(const std::string& path);

// Whether both gave the same answers to the requests that both had, text and tokens; empty if there
// is no such request, or answers are no texts.
std::optional<bool> same_answers(const Serving& serving, const Serving& undisturbed);

// Steps per second between the first and the last report from one moment to another; empty if there
// are less than two.
std::optional<double> steps_per_second(const Training& training, u64 from_us, u64 to_us);

// Whether both had the same weights after every step that both have reported; empty if there is no
// such step.
std::optional<bool> same_results(const Training& training, const Training& undisturbed);

}  // namespace gp::demo
