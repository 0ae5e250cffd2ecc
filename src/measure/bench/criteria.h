// Words for what a scenario asks for.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "demo/summary.h"
#include "demo/workload_results.h"
#include "report/numbers.h"
#include "report/results.h"

namespace gp::bench {

inline report::Criterion at_most(std::string scenario, std::string what, double limit,
                                 std::string unit, std::optional<double> value) {
  report::Criterion criterion;
  criterion.scenario = std::move(scenario);
  criterion.what = std::move(what);
  criterion.unit = std::move(unit);
  criterion.limit = limit;
  criterion.value = value;
  return criterion;
}

inline report::Criterion at_least(std::string scenario, std::string what, double limit,
                                  std::string unit, std::optional<double> value) {
  report::Criterion criterion =
      at_most(std::move(scenario), std::move(what), limit, std::move(unit), value);
  criterion.at_least = true;
  return criterion;
}

// Something that is so or not.
inline report::Criterion holds(std::string scenario, std::string what, bool is_so,
                               std::string note = "") {
  report::Criterion criterion =
      at_least(std::move(scenario), std::move(what), 1, "", is_so ? 1 : 0);
  criterion.note = std::move(note);
  return criterion;
}

// How far two like things were apart, whichever was the larger. A machine on which that is more
// than a limit cannot show less.
inline std::optional<double> apart(std::optional<double> a, std::optional<double> b) {
  return a && b ? report::ratio(std::max(*a, *b), std::min(*a, *b)) : std::nullopt;
}

inline std::optional<double> mean(std::optional<double> a, std::optional<double> b) {
  return a && b ? std::optional((*a + *b) / 2) : std::nullopt;
}

// What a p50 does not show, and is not judged: on a virtual GPU the slowest requests are those for
// which a thread of it waited for a CPU.
inline std::string tail_text(const std::vector<double>& latencies_ms) {
  return fmt::format("p99 {}, max {}", report::format_ms(demo::quantile(latencies_ms, 0.99)),
                     report::format_ms(demo::quantile(latencies_ms, 1)));
}

inline std::vector<double> latencies_ms(const demo::Serving& serving) {
  std::vector<double> all;
  for (const demo::Request& request : serving.requests) {
    all.push_back(static_cast<double>(request.latency_us) / 1000);
  }
  return all;
}

inline void add_known(std::optional<double> value, std::vector<double>& values) {
  if (value) {
    values.push_back(*value);
  }
}

}  // namespace gp::bench
