#include "report/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

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

std::optional<double> median(std::vector<double> values) {
  const Summary summary(std::move(values));
  const std::size_t count = summary.count();
  if (count == 0) {
    return std::nullopt;
  }
  return std::midpoint(summary.sorted[(count - 1) / 2], summary.sorted[count / 2]);
}

}  // namespace gp::report
