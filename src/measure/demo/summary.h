// A phase, or one of its rounds, in a few numbers, and what the demo says of itself: the table's
// and --json's content.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace gp::demo {

// The smallest value that a part `q` (0..1) of all values do not exceed; empty without values.
std::optional<double> quantile(std::vector<double> values, double q);

struct Quantiles {
  std::optional<double> p50, p99, max;
};
Quantiles quantiles_of(const std::vector<double>& values);

struct PhaseSummary {
  std::string name;
  std::optional<double> online_p50_ms, online_p99_ms, online_max_ms;
  u64 requests = 0;
  std::optional<double> offline_steps_per_s;
  u64 preemptions = 0;
  std::optional<bool> checksum_ok;
  std::optional<report::OtherPrograms> others;
  Quantiles first_token_ms, next_token_ms;  // of a language model
  std::optional<bool> texts_equal;
};
PhaseSummary summarise(const report::Phase& phase);

// --json: schema_version, virtual_gpu, device, phases[], criteria[]; each phase has the same
// numbers of every round in rounds[]. Unknown is null.
std::string summary_json(const report::Results& results);

// What a run must show: how far online is from having the GPU to itself, and that nothing is lost.
// Noise is how far the rounds of what ran alone are apart.
std::vector<report::Criterion> criteria_of(const std::vector<report::Phase>& phases);

}  // namespace gp::demo
