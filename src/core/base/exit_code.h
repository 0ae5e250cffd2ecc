// What the programs of this project return to the shell, and how they tell of errors: on standard
// error, "program: what: errno" and a line with the hint. The functions that print return the exit
// code, so that a command ends with `return report_error(...)`.
#pragma once

#include <string>

#include "base/result.h"

namespace gp {

enum ExitCode {
  exit_ok = 0,
  exit_failed = 1,
  exit_usage = 2,
  exit_no_device = 3,  // or the daemon or server is not running
  exit_permission = 4,
  exit_unsupported = 5,
  exit_timeout = 6,
  exit_not_executable = 126,  // a program that was to be started, as shells have it
  exit_not_found = 127,
};

ExitCode exit_code_of(const Error& error);

int report_error(const Error& error);
// Something on the command line, or the configuration, is wrong: exit_usage.
int report_usage(const std::string& what, const std::string& hint);
// exec of this program has failed with `code`, an errno.
int report_not_started(const char* program, int code);

}  // namespace gp
