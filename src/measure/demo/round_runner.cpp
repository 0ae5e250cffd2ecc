#include "demo/round_runner.h"

#include <fmt/format.h>

#include <algorithm>

#include "demo/cpu_meter.h"
#include "demo/summary.h"
#include "report/phases.h"
#include "report/verdict.h"

namespace gp::demo {
namespace {

// Rounds measured again, in all: whoever compiles beside it for long is not waited for.
constexpr unsigned kMostRepeats = 2;

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
  if (is_disturbed(round.others)) {
    text += fmt::format("; other programs took {}", report::others_text(*round.others));
  }
  return text;
}

std::optional<report::OtherPrograms> disturbance_of(const std::vector<report::Phase>& round) {
  std::optional<report::OtherPrograms> most;
  for (const report::Phase& phase : round) {
    most = report::more_disturbed(most, phase.others);
  }
  return most;
}

double part_by_others(const std::vector<report::Phase>& round) {
  const auto others = disturbance_of(round);
  return others ? report::part_of_cpus(*others) : 0;
}

}  // namespace

Status RoundRunner::run(unsigned rounds) {
  for (unsigned round = 1; round <= rounds; ++round) {
    rounds_.push_back(TRY(measure_round(fmt::format("round {}/{}", round, rounds))));
  }
  for (unsigned repeat = 0; repeat < kMostRepeats; ++repeat) {
    if (std::ranges::none_of(criteria_of(phases()), report::is_inconclusive)) {
      break;
    }
    TRY(repeat_most_disturbed());
  }
  return ok();
}

Result<RoundRunner::Round> RoundRunner::measure_round(const std::string& name) {
  Round round;
  for (const Part& part : kParts) {
    progress_.begin(fmt::format("{}, {}", name, part.title));
    round.push_back(TRY(measure_part(part)));
    progress_.done(outcome_text(round.back()));
  }
  return round;
}

Result<report::Phase> RoundRunner::measure_part(const Part& part) {
  const CpuMeter meter(running_ ? running_->daemon_pid() : std::nullopt);
  const Measured measured = TRY((this->*part.measure)());
  const auto others = meter.read();
  report::Phase phase = TRY(phase_of(part.name, measured, undisturbed_));
  phase.others = others;
  return phase;
}

// Of the two, the quieter counts, whatever it measured.
Status RoundRunner::repeat_most_disturbed() {
  const auto most = std::ranges::max_element(rounds_, {}, part_by_others);
  const auto number = most - rounds_.begin() + 1;
  progress_.say(fmt::format("Other programs took {} in round {}: it is measured again.",
                            report::others_text(*disturbance_of(*most)), number));
  Round again = TRY(measure_round(fmt::format("round {} again", number)));
  if (part_by_others(again) < part_by_others(*most)) {
    *most = std::move(again);
  }
  return ok();
}

std::vector<report::Phase> RoundRunner::phases() const {
  std::vector<report::Phase> phases;
  for (std::size_t part = 0; part < kParts.size(); ++part) {
    std::vector<report::Phase> rounds;
    for (const Round& round : rounds_) {
      rounds.push_back(round[part]);
    }
    phases.push_back(report::join_rounds(rounds));
  }
  return phases;
}

Result<Measured> RoundRunner::online_alone() {
  Measured measured = TRY(runner_.online_alone());
  hip_runtime_ = measured.serving->hip_runtime;
  if (!undisturbed_.serving) {
    undisturbed_.serving = measured.serving;
  }
  return measured;
}

Result<Measured> RoundRunner::offline_alone() {
  Measured measured =
      TRY(runner_.offline_alone(undisturbed_.training ? std::chrono::seconds(0) : load_.longer));
  if (!undisturbed_.training) {
    undisturbed_.training = measured.training;
  }
  return measured;
}

Result<Measured> RoundRunner::both_without() { return runner_.both(nullptr); }

// A daemon of our own ends with the round: none is to be there while others are measured.
Result<Measured> RoundRunner::both_with() {
  if (running_) {
    return runner_.both(&*running_);
  }
  const Scheduler own = TRY(Scheduler::start(programs_, scratch_, waiter_));
  return runner_.both(&own);
}

}  // namespace gp::demo
