#include "cli/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace gp::cli {

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

int report(const Error& error) {
  std::fprintf(stderr, "gpreempt: %s: %s\n", error.what.c_str(), std::strerror(error.code));
  if (!error.hint.empty()) {
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  }
  return exit_code_of(error);
}

}  // namespace gp::cli
