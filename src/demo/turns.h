// The phases of the demo by turns: every round runs all of them (report/rounds.h says why).
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

class Turns {
 public:
  // `running`: a daemon that is there already. Without one, gpreempt's turns have one of their own.
  Turns(const Places& places, const ScratchDirectory& scratch, const Load& load, const Stage& stage,
        std::optional<Scheduler> running)
      : places_(places),
        scratch_(scratch),
        stage_(stage),
        runner_(places, scratch, load, stage),
        running_(std::move(running)) {}

  Status run(unsigned rounds, Progress& progress);
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
    Result<Measured> (Turns::*measure)();
    std::vector<report::Phase> rounds = {};
  };

  const Places& places_;
  const ScratchDirectory& scratch_;
  const Stage& stage_;
  PhaseRunner runner_;
  std::optional<Scheduler> running_;
  std::optional<Training> undisturbed_;  // what the results of all others must equal
  std::string hip_runtime_;
  std::array<Part, 4> parts_{{
      {kOnlineAlone, "online alone", &Turns::online_alone},
      {kOfflineAlone, "offline alone", &Turns::offline_alone},
      {kBothWithout, "both, without gpreempt", &Turns::both_without},
      {kBothWith, "both, with gpreempt", &Turns::both_with},
  }};
};

}  // namespace gp::demo
