// The command line of gpreemptd.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"

namespace gp::daemon {

struct Options {
  std::string config;  // empty: the default file if it is there, else the defaults
  std::string socket;
  LogLevel log_level = LogLevel::info;
  // The program is to end with this code: the user was shown what they asked for, or their mistake.
  std::optional<int> exit_code;
};

Options parse_options(int argc, const char* const* argv);

}  // namespace gp::daemon
