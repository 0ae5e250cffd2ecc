// How fast this GPU writes its own memory: a stop is at most as fast as what it saves can be
// written.
#pragma once

#include "gpu.h"

namespace gp::load {

// GB/s of ROCr's own fill, the best of several; measured with nobody else on the GPU.
double fill_gb_per_s(const Gpu& gpu);

}  // namespace gp::load
