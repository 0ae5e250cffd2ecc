// `gpreempt bench`: named scenarios, each with what it must reach. A scenario starts its own
// daemon and programs, measures, and leaves nothing behind.
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "bench/launcher.h"
#include "demo/progress.h"
#include "report/results.h"

namespace gp::bench {

using std::chrono::milliseconds;

enum class Extent { brief, full };

struct Context {
  const Launcher& launcher;
  bool virtual_gpu = false;
  Extent extent = Extent::brief;
  std::optional<milliseconds> duration;  // the user's wish
  std::string llama_server = {};         // the user's; empty: the one that is installed

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
  std::vector<report::LingerRun> lingers;
};

struct Scenario {
  const char* name;
  const char* what;
  Result<Outcome> (*run)(const Context& context);
};

// Runs it, and again while other programs may be why a criterion was missed: a few times, and only
// what is short. A failure is a criterion that was missed; an error only if the user ended it.
Result<Outcome> run(const Scenario& scenario, const Context& context, demo::Progress& progress);

// Notes beside what depends on time what other programs took. A count is what it is, however busy
// the machine, and what failed has failed.
void note_others(const std::optional<report::OtherPrograms>& others, Outcome& outcome);

// One run of a scenario, and what other programs took meanwhile.
struct Attempt {
  Outcome outcome;
  std::optional<report::OtherPrograms> others;
};
// The first, unless the second is known to have been disturbed less, whatever they measured.
Attempt quieter(Attempt first, Attempt second);

// Needs a llama-server, which not every machine has.
inline constexpr char kLlm[] = "llm";

// Needs root: attackers are another user.
inline constexpr char kHostile[] = "hostile";

// In the order in which they run.
std::span<const Scenario> scenarios();

Result<Outcome> run_beside(const Context& context);
Result<Outcome> run_basic(const Context& context);
Result<Outcome> run_frequent(const Context& context);
Result<Outcome> run_throughput(const Context& context);
Result<Outcome> run_notice(const Context& context);
Result<Outcome> run_outside(const Context& context);
Result<Outcome> run_llm(const Context& context);
Result<Outcome> run_idle(const Context& context);
Result<Outcome> run_edge(const Context& context);
Result<Outcome> run_latency(const Context& context);
Result<Outcome> run_schemes(const Context& context);
Result<Outcome> run_tokens(const Context& context);
Result<Outcome> run_stress(const Context& context);
Result<Outcome> run_hostile(const Context& context);
Result<Outcome> run_stability(const Context& context);

}  // namespace gp::bench
