// What the virtual GPU has counted so far. Hardware does not tell.
#pragma once

#include <optional>

#include "base/result.h"
#include "base/types.h"
#include "bench/actors.h"

namespace gp::bench {

// How often the scheduler of the device has taken all queues off, on all GPUs together.
Result<u64> device_unmaps(const Actors& actors);

}  // namespace gp::bench
