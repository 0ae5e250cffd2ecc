// What the programs of this project return.
#pragma once

#include "base/result.h"

namespace vgpu::cli {

enum ExitCode {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_no_device = 3,  // or the server is not running
  exit_permission = 4,
  exit_unsupported = 5,
  exit_timeout = 6,
  exit_cannot_execute = 126,  // run, exec: as the shell has it
  exit_not_found = 127,
};

ExitCode exit_code_of(const gp::Error& error);

// Prints "vgpu: what: errno" and the hint on standard error; returns the exit code.
int report(const gp::Error& error);

}  // namespace vgpu::cli
