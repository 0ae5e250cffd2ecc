// Like work of high and of low priority that together wants more of the GPU than there is: two
// programs, or two streams of one. How much longer the low one waits is what its priority is worth.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "report/results.h"
#include "verify/setting.h"

namespace gp::verify {

struct Rivals {
  std::optional<double> high_ms, low_ms;  // p50 of their requests
  double stops = 0, wrong_lanes = 0;      // of low; of both
  std::string by;                         // the mechanism; empty: none

  std::optional<double> ratio() const;
};

// Latencies of the requests that arrived in `seconds`, one every so often: those without an answer
// have waited until then.
std::vector<double> with_unanswered(std::vector<double> latencies_ms, double every_ms,
                                    double seconds);

// Without gpreempt, at level 1 and at level 3.
Status compare_rivals(Setting& setting, report::Results& results);

}  // namespace gp::verify
