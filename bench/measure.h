// Time and medians for the benchmark programs. Each program prints one JSON object.
#pragma once

#include <time.h>

#include <algorithm>
#include <vector>

inline double now_seconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

template <typename F>
double seconds_of(F work) {
  const double start = now_seconds();
  work();
  return now_seconds() - start;
}

inline double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}
inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }
