// Faults that tests and demonstrations ask for.
#pragma once

#include <string_view>

#include "driver/module.h"

namespace vgpu::driver {

Status inject_fault(Module& module, std::string_view fault);
// debugfs hang_hws: the scheduler answers nothing until it is reset.
void hang_scheduler(Module& module, Node& node);

}  // namespace vgpu::driver
