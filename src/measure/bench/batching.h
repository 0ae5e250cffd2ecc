// The same queues of several processes stopped and started by many driver calls and by few.
#pragma once

#include "base/result.h"
#include "bench/scenario.h"

namespace gp::bench {

// Without gpreemptd: this process makes the calls. What a driver does not offer is left out, with a
// note that says why.
Result<report::Batching> compare_batching(const Context& context);

}  // namespace gp::bench
