// When requests arrive: moments in microseconds from the start, in order. The same arguments give
// the same moments on every machine.
#pragma once

#include <cmath>
#include <cstdint>
#include <istream>
#include <optional>
#include <random>
#include <string>
#include <vector>

using Arrivals = std::vector<std::uint64_t>;

// One every interval.
inline Arrivals fixed_arrivals(unsigned count, double interval_us) {
  Arrivals arrivals;
  for (unsigned i = 0; i < count; i++) {
    arrivals.push_back(static_cast<std::uint64_t>(std::llround(i * interval_us)));
  }
  return arrivals;
}

// Independent of each other, one per interval on average. The distribution is written out because
// the standard library's may differ between implementations.
inline Arrivals poisson_arrivals(unsigned count, double interval_us, unsigned seed) {
  std::mt19937_64 generator(seed);
  Arrivals arrivals;
  double moment = 0;
  for (unsigned i = 0; i < count; i++) {
    const double uniform = std::ldexp(static_cast<double>(generator() >> 11), -53);  // [0, 1)
    moment += -interval_us * std::log1p(-uniform);
    arrivals.push_back(static_cast<std::uint64_t>(std::llround(moment)));
  }
  return arrivals;
}

// `burst` at once, then nothing until as many intervals have passed.
inline Arrivals burst_arrivals(unsigned count, double interval_us, unsigned burst) {
  Arrivals arrivals;
  for (unsigned i = 0; i < count; i++) {
    arrivals.push_back(static_cast<std::uint64_t>(std::llround((i - i % burst) * interval_us)));
  }
  return arrivals;
}

// A recorded trace: a line per request with its milliseconds from the start; empty lines and those
// that begin with # mean nothing. Without a value if a line is no such number or goes back in time;
// then `bad_line` is its number.
inline std::optional<Arrivals> traced_arrivals(std::istream& file, unsigned* bad_line) {
  Arrivals arrivals;
  std::string line;
  for (*bad_line = 1; std::getline(file, line); ++*bad_line) {
    if (line.empty() || line[0] == '#') {
      continue;
    }
    char* end = nullptr;
    const double milliseconds = std::strtod(line.c_str(), &end);
    if (end == line.c_str() || *end != '\0' || !(milliseconds >= 0 && milliseconds < 1e12)) {
      return std::nullopt;
    }
    const auto moment = static_cast<std::uint64_t>(std::llround(1000 * milliseconds));
    if (!arrivals.empty() && moment < arrivals.back()) {
      return std::nullopt;
    }
    arrivals.push_back(moment);
  }
  return arrivals;
}
