// Exact quantiles of a list of measurements.
#pragma once

#include <optional>
#include <vector>

#include "base/types.h"

namespace gp::report {

struct Summary {
  std::vector<double> sorted;

  explicit Summary(std::vector<double> values);
  std::size_t count() const { return sorted.size(); }
  // The smallest measured value that a part `q` (0..1) of all do not exceed; empty without values.
  std::optional<double> quantile(double q) const;
  std::optional<double> max() const { return quantile(1); }
};

// The middle one, or what lies between the two middle ones; empty without values.
std::optional<double> median(std::vector<double> values);

}  // namespace gp::report
