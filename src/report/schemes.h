// The ways to stop work beside each other.
#pragma once

#include <string>

#include "report/results.h"

namespace gp::report {

// Not available here: only its remark means something.
inline bool is_measured(const Scheme& scheme) { return scheme.stop_p50_us > 0; }

// Bars and a table; empty without schemes.
std::string scheme_comparison(const Results& results);

}  // namespace gp::report
