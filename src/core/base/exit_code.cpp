#include "base/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gp {
namespace {

void print(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "%s: %s\n", program_invocation_short_name, what.c_str());
  if (!hint.empty()) {
    std::fprintf(stderr, "hint: %s\n", hint.c_str());
  }
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case EINVAL:
    case ERANGE:
    case E2BIG: return exit_usage;
    case ENODEV:
    case ENXIO: return exit_no_device;
    case EACCES:
    case EPERM: return exit_permission;
    case ENOTSUP:
    case ENOSYS:
    case ENOTTY: return exit_unsupported;
    case ETIMEDOUT:
    case ETIME: return exit_timeout;
    default: return exit_failed;
  }
}

int report_error(const Error& error) {
  print(error.what + ": " + std::strerror(error.code), error.hint);
  return exit_code_of(error);
}

int report_usage(const std::string& what, const std::string& hint) {
  print(what, hint);
  return exit_usage;
}

int report_not_started(const char* program, int code) {
  print(std::string(program) + ": " + std::strerror(code), "");
  return code == ENOENT ? exit_not_found : exit_not_executable;
}

}  // namespace gp
