// The command line of vgpud. options.cpp is the one place of it that knows CLI11.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"
#include "protocol/device_options.h"

namespace vgpu::server {

struct Options {
  std::string directory;
  protocol::DeviceDescription device;
  gp::LogLevel log_level = gp::LogLevel::info;
  int ready_fd = -1;     // where to say "ready" or why not
  int lifetime_fd = -1;  // end when this pipe is closed
  std::string help;      // not empty: to be shown, and nothing else done
};

gp::Result<Options> parse_options(int argc, char** argv);

}  // namespace vgpu::server
