// `gpreempt bench`: named scenarios, each with what it must reach. A scenario starts its own
// daemon and programs, measures, and leaves nothing behind.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "bench/actors.h"
#include "report/results.h"

namespace gp::bench {

using std::chrono::milliseconds;

enum class Extent { brief, full };

struct Context {
  const Actors& actors;
  bool virtual_gpu = false;
  Extent extent = Extent::brief;
  std::optional<milliseconds> duration;  // the user's wish

  // How long the scenario's main part lasts.
  milliseconds lasting(milliseconds brief, milliseconds full) const {
    return duration.value_or(extent == Extent::full ? full : brief);
  }
};

struct Outcome {
  std::vector<report::Criterion> criteria;
  std::vector<report::Scheme> schemes;
  std::optional<report::Batching> batching;
  std::optional<report::Reservation> reservation;
};

struct Scenario {
  const char* name;
  const char* what;
  Result<Outcome> (*run)(const Context& context);
};

// In the order in which they run.
std::span<const Scenario> scenarios();

Result<Outcome> run_beside(const Context& context);
Result<Outcome> run_basic(const Context& context);
Result<Outcome> run_frequent(const Context& context);
Result<Outcome> run_throughput(const Context& context);
Result<Outcome> run_notice(const Context& context);
Result<Outcome> run_idle(const Context& context);
Result<Outcome> run_edge(const Context& context);
Result<Outcome> run_latency(const Context& context);
Result<Outcome> run_schemes(const Context& context);
Result<Outcome> run_stress(const Context& context);
Result<Outcome> run_stability(const Context& context);

}  // namespace gp::bench
