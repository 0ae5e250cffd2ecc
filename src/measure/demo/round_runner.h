// The phases of the demo by turns: every round runs all of them (report/phases.h says why). Rounds
// that other programs disturbed are measured again, if they may be why something was missed.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/phases.h"
#include "demo/progress.h"
#include "demo/scheduler.h"
#include "report/results.h"

namespace gp::demo {

class RoundRunner {
 public:
  // `running`: a daemon that is there already. Without one, a round with gpreempt has one of its
  // own.
  RoundRunner(const Programs& programs, const ScratchDirectory& scratch, const Load& load,
              const Waiter& waiter, std::optional<Scheduler> running, Progress& progress)
      : programs_(programs),
        scratch_(scratch),
        load_(load),
        waiter_(waiter),
        runner_(programs, scratch, load, waiter),
        running_(std::move(running)),
        progress_(progress) {}

  Status run(unsigned rounds);
  // The rounds of each joined.
  std::vector<report::Phase> phases() const;
  const std::string& hip_runtime() const { return hip_runtime_; }

 private:
  Result<Measured> online_alone();
  Result<Measured> offline_alone();
  Result<Measured> both_without();
  Result<Measured> both_with();

  struct Part {
    const char *name, *title;
    Result<Measured> (RoundRunner::*measure)();
  };
  using Round = std::vector<report::Phase>;  // one of each part
  Result<Round> measure_round(const std::string& name);
  Result<report::Phase> measure_part(const Part& part);
  Status repeat_most_disturbed();

  const Programs& programs_;
  const ScratchDirectory& scratch_;
  const Load& load_;
  const Waiter& waiter_;
  PhaseRunner runner_;
  std::optional<Scheduler> running_;
  Undisturbed undisturbed_;  // what the results of all others must equal
  std::string hip_runtime_;
  Progress& progress_;
  std::vector<Round> rounds_;
  static constexpr std::array<Part, 4> kParts{{
      {kOnlineAlone, "online alone", &RoundRunner::online_alone},
      {kOfflineAlone, "offline alone", &RoundRunner::offline_alone},
      {kBothWithout, "both, without gpreempt", &RoundRunner::both_without},
      {kBothWith, "both, with gpreempt", &RoundRunner::both_with},
  }};
};

}  // namespace gp::demo
