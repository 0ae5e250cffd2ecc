// The command line of gpreemptd.
#pragma once

#include <string>

#include "base/log.h"
#include "base/result.h"

namespace gp::daemon {

struct Options {
  std::string config;  // empty: the default file if it is there, else the defaults
  std::string socket;
  LogLevel log_level = LogLevel::info;
  bool help = false;
  bool version = false;
};

Result<Options> parse_options(int argc, char** argv);
std::string help_text();

}  // namespace gp::daemon
