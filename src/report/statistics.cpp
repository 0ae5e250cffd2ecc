#include "report/statistics.h"

#include <algorithm>
#include <cmath>

namespace gp::report {

Summary::Summary(std::vector<double> values) : sorted(std::move(values)) {
  std::sort(sorted.begin(), sorted.end());
}

std::optional<double> Summary::quantile(double q) const {
  if (sorted.empty()) {
    return std::nullopt;
  }
  // In hundredths of a percent, whole: 0.99 * 100 is a little more than 99 in binary.
  const double parts = std::round(q * 1e4);
  const auto rank =
      static_cast<std::size_t>(std::ceil(parts * static_cast<double>(sorted.size()) / 1e4));
  return sorted[std::clamp<std::size_t>(rank, 1, sorted.size()) - 1];
}

}  // namespace gp::report
