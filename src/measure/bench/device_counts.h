// What the virtual GPU has counted so far. Hardware does not tell.
#pragma once

#include <optional>

#include "base/result.h"
#include "bench/launcher.h"
#include "libc/types.h"

namespace gp::bench {

// How often the scheduler of the device has taken all queues off, on all GPUs together.
Result<u64> device_unmaps(const Launcher& launcher);

}  // namespace gp::bench
