// Whether what was asked for was met.
#pragma once

#include <algorithm>
#include <vector>

#include "report/results.h"

namespace gp::report {

// Beside others no work can be faster than alone. Where it measures so by more than this, something
// else used the machine in one of the phases.
inline constexpr double kFasterThanAlone = 1.05;

// A value that could not be measured has not passed.
inline bool is_met(const Criterion& criterion) {
  return criterion.value && (criterion.at_least ? *criterion.value >= criterion.limit
                                                : *criterion.value <= criterion.limit);
}

inline std::size_t count_met(const std::vector<Criterion>& criteria) {
  return static_cast<std::size_t>(std::count_if(criteria.begin(), criteria.end(), is_met));
}

}  // namespace gp::report
