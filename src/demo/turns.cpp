#include "demo/turns.h"

#include <fmt/format.h>

#include "demo/summary.h"
#include "report/rounds.h"

namespace gp::demo {
namespace {

// The run that all others are compared with is a little longer than they are, so that its results
// cover their steps: they go on while the server starts.
constexpr std::chrono::seconds kLonger{3};

// One round has too few requests for a p99.
std::string outcome_text(const report::Phase& round) {
  const PhaseSummary summary = summarise(round);
  std::string text;
  if (summary.online_p50_ms) {
    text += fmt::format("p50 {:.1f} ms, slowest {:.1f} ms", *summary.online_p50_ms,
                        *summary.online_max_ms);
  }
  if (summary.offline_steps_per_s) {
    text += fmt::format("{}{:.1f} steps/s", text.empty() ? "" : ", ", *summary.offline_steps_per_s);
  }
  return text;
}

}  // namespace

Status Turns::run(unsigned rounds, Progress& progress) {
  for (unsigned round = 1; round <= rounds; ++round) {
    for (Part& part : parts_) {
      progress.begin(fmt::format("round {}/{}, {}", round, rounds, part.title));
      const Measured measured = TRY((this->*part.measure)());
      part.rounds.push_back(
          TRY(phase_of(part.name, measured, undisturbed_ ? &*undisturbed_ : nullptr)));
      progress.done(outcome_text(part.rounds.back()));
    }
  }
  return ok();
}

std::vector<report::Phase> Turns::phases() const {
  std::vector<report::Phase> phases;
  for (const Part& part : parts_) {
    phases.push_back(report::join_rounds(part.rounds));
  }
  return phases;
}

Result<Measured> Turns::online_alone() {
  Measured measured = TRY(runner_.online_alone());
  hip_runtime_ = measured.serving->hip_runtime;
  return measured;
}

Result<Measured> Turns::offline_alone() {
  Measured measured = TRY(runner_.offline_alone(undisturbed_ ? std::chrono::seconds(0) : kLonger));
  if (!undisturbed_) {
    undisturbed_ = measured.training;
  }
  return measured;
}

Result<Measured> Turns::both_without() { return runner_.both(nullptr); }

// A daemon of our own ends with the round: none is to be there while others are measured.
Result<Measured> Turns::both_with() {
  if (running_) {
    return runner_.both(&*running_);
  }
  const Scheduler own = TRY(Scheduler::start(places_, scratch_, stage_));
  return runner_.both(&own);
}

}  // namespace gp::demo
