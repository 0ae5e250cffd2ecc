// What runs on hardware are judged by: steps from good to very good, not criteria. On a virtual GPU
// times are an emulator's and say nothing of hardware: the numbers stand beside the tiers,
// unjudged.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/results.h"

namespace gp::report {

struct Tier {
  std::string what;
  std::string unit;
  std::vector<double> limits;  // from good to very good
  bool at_least = false;       // the value must be above, not below, a limit
  std::optional<double> value;
};

// Empty if the schemes were not compared.
std::vector<Tier> hardware_tiers(const Results& results);

// The best limit that the value reaches; empty if none.
std::optional<double> reached(const Tier& tier);

// "< 1 / 0.5 / 0.3 ms".
std::string limits_text(const Tier& tier);

}  // namespace gp::report
