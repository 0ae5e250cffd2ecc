// Words for what a step asks for, beside those of bench/criteria.h.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bench/criteria.h"
#include "report/results.h"

namespace gp::verify {

using bench::at_least;
using bench::at_most;
using bench::holds;

// The user's numbers: what must be, then better and best.
inline constexpr double kStopMs[] = {5, 0.5, 0.3};
inline constexpr double kBatchMs[] = {1, 0.5, 0.3};
inline constexpr double kOnlineMs[] = {50, 10};
inline constexpr double kLossPercent = 5;

report::Criterion unjudged(const char* verdict, std::string step, std::string what,
                           std::string why);

// At most the first limit; the note says which of the better ones it reaches, and the rest.
report::Criterion tiered(std::string step, std::string what, std::span<const double> limits_ms,
                         const std::vector<double>& values_ms, double q);

// Times that nobody asked for are there to be compared, not judged.
void show_times(std::span<report::Criterion> criteria);

// Times of an emulator are shown, not judged.
void mark_emulated(std::span<report::Criterion> criteria);

}  // namespace gp::verify
