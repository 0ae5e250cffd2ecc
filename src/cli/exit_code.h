// What `gpreempt` returns to the shell, and how it tells of errors.
#pragma once

#include "base/result.h"

namespace gp::cli {

enum ExitCode {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_no_device = 3,
  exit_permission = 4,
  exit_unsupported = 5,
  exit_timeout = 6,
};

ExitCode exit_code_of(const Error& error);

// Prints "gpreempt: what: errno" and the hint on standard error; returns the exit code.
int report(const Error& error);

}  // namespace gp::cli
