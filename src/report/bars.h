// Horizontal bars with their names above and their values at the end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/rounds.h"

namespace gp::report {

struct Bar {
  std::string name;
  double value = 0;
  std::string text;     // the value, for people
  std::string classes;  // of the shape: "offline with"
  std::optional<Spread> spread = {};
};

// All from 0, on one linear scale. Empty without bars.
std::string bars(const std::vector<Bar>& bars, const std::string& label);

}  // namespace gp::report
