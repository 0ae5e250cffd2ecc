// The phases of a demo: what they are called on the page, and how they are made of rounds.
//
// A machine is faster at one time than at another. So the phases of a demo are not measured one
// after the other but by turns, a part of each in every round: what changes meanwhile meets all of
// them alike, and how far the rounds of one phase are apart says how much it was.
//
// Latencies of all rounds are taken together. The p99 of one round's few requests would be little
// more than the slowest of them, and a median of such numbers no p99. A speed is the median of the
// rounds'. Beside both stands the spread: the lowest and the highest round.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

// "both-with" -> "Both, with gpreempt"; other names stay.
std::string title_of(const Phase& phase);
// The class of its shapes: one of alone, without, with, other.
std::string class_of(const Phase& phase);
// The phase of that name, or none.
const Phase* find_phase(const Results& results, const std::string& name);

// The rounds of one phase, in the order in which they were run, as one phase that has no pause
// between them.
Phase join_rounds(const std::vector<Phase>& rounds);

// The other way round: requests, speed and length of each round. Empty if the phase was measured in
// one go. Timelines are not divided.
std::vector<Phase> rounds_of(const Phase& phase);

struct Spread {
  double lowest = 0, highest = 0;
};

// Empty if there are not two rounds that know the number.
std::optional<Spread> latency_spread(const Phase& phase, double q);
std::optional<Spread> speed_spread(const Phase& phase);

// When each round but the first began.
std::vector<double> round_starts_us(const Phase& phase);

}  // namespace gp::report
