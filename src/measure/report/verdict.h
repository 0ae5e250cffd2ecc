// Whether what was asked for was met, and whether other programs could have made it fail.
//
// A machine that others use too makes requests wait for a CPU, whatever gpreempt does: above all
// the virtual GPU, whose waves are threads of this machine. A criterion that was missed beside
// such a disturbance says nothing, in either direction: it is inconclusive. One that was met in
// spite of it is met. One that nobody disturbed is missed.
#pragma once

#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

// Beside others no work can be faster than alone. Where it measures so by more than this, something
// else used the machine in one of the phases.
inline constexpr double kFasterThanAlone = 1.05;

// The part of all CPUs' time above which others disturb. A p99 moves when one request in a hundred
// is met, so this is more than enough to move it; and it is well above what an idle machine does by
// itself, and what the kernel's clock ticks (10 ms) err by in a round of some seconds.
inline constexpr double kMostOfCpus = 0.05;
// Where the kernel tells that nobody waited for a CPU (PSI), there were enough for all.
inline constexpr double kLeastWaiting = 0.01;  // of the time

// Did others take so much that what was measured meanwhile may be their doing?
bool is_disturbed(const OtherPrograms& others);
bool is_disturbed(const std::optional<OtherPrograms>& others);  // unknown: no excuse

// The part of all CPUs' time that others took.
double part_of_cpus(const OtherPrograms& others);
// "140 % of 2 CPUs"; all of them would be 200 %.
std::string others_text(const OtherPrograms& others);

// Of both times together; unknown if one is.
std::optional<OtherPrograms> sum(const std::optional<OtherPrograms>& a,
                                 const std::optional<OtherPrograms>& b);
// Where others disturbed, then where they took more; what is not known is less than anything.
std::optional<OtherPrograms> more_disturbed(const std::optional<OtherPrograms>& a,
                                            const std::optional<OtherPrograms>& b);
// The most disturbed round of the phase, or the phase itself if it has none.
std::optional<OtherPrograms> most_disturbed(const Phase& phase);
std::optional<OtherPrograms> most_disturbed(const Results& results);  // and of the criteria

enum class Verdict { met, missed, inconclusive, not_possible, skipped, emulated, shown };
const char* name(Verdict verdict);  // in JSON: "met", "missed", "inconclusive", kNotPossible, ...
const char* shown_as(Verdict verdict);  // on a terminal: "ok", "FAILED", else its name

// A value that could not be measured has not met its limit.
Verdict verdict_of(const Criterion& criterion);

bool is_met(const Criterion& criterion);
bool is_missed(const Criterion& criterion);
bool is_inconclusive(const Criterion& criterion);
bool is_unjudged(const Criterion& criterion);  // not possible here, skipped, emulated, shown

// "2 of 3 criteria met, 1 inconclusive".
std::string count_text(const std::vector<Criterion>& criteria);

}  // namespace gp::report
