// What limits the results, and what to try next: one rule per line of a table.
#pragma once

#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

struct Advice {
  std::string finding;  // with its number
  std::string remedy;   // which mechanism, which setting, which machine
};

// The most important first; empty if no rule applies.
std::vector<Advice> advice_for(const Results& results);

}  // namespace gp::report
