// The command line of vgpud.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "driver/driver.h"

namespace vgpu::server {

struct Options {
  std::string directory;
  driver::DriverConfig device;
  LogLevel log_level = LogLevel::info;
  int ready_fd = -1;     // where to say "ready" or why not
  int lifetime_fd = -1;  // end when this pipe is closed
  bool help = false;
};

Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace vgpu::server
