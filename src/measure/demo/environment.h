// On what the demo was measured.
#pragma once

#include "report/results.h"

namespace gp::demo {

// Of this machine and its GPUs, with the date; version and command are the caller's to fill in.
report::Environment describe_environment(bool virtual_gpu);

}  // namespace gp::demo
