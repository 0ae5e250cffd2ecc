// Online work beside more queues than the GPU has slots, with and without slots of its own.
#pragma once

#include "base/result.h"
#include "bench/scenario.h"

namespace gp::bench {

// Without gpreemptd: nobody is stopped, so that what is measured is the slots alone. Where it
// cannot be measured the note says why.
Result<report::Reservation> compare_reservation(const Context& context);

}  // namespace gp::bench
