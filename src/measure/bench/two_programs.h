// Two like programs at the same time, one online and one offline: what priority is worth.
#pragma once

#include "base/result.h"
#include "bench/mechanisms.h"
#include "bench/scenario.h"

namespace gp::bench {

// What each program gets to do: requests that together are more than the GPU can answer.
struct RequestLoad {
  Words kind;               // of request
  milliseconds interval{};  // between them
};
// From one program alone, so that the load fits this GPU.
Result<RequestLoad> request_load_for(const Context& context);

// p50 latency of the offline program over that of the online one, while both have work. What the
// offline one has not answered by then has waited at least so long. Without a mechanism nobody is
// stopped: what the GPU makes of equals.
Result<double> low_over_high(const Context& context, const RequestLoad& load,
                             const MeasuredMechanism* mechanism, const demo::Scheduler* scheduler);

}  // namespace gp::bench
