// The environment of a program that runs on a virtual device.
#pragma once

#include <string>

#include "base/result.h"

namespace vgpu::cli {

// Changes our own environment, for a program that is started next.
gp::Status enter_device(const std::string& directory);

// Executes the command in place of this process. Returns only if that failed: 126 or 127.
int execute(char* const* command);

}  // namespace vgpu::cli
