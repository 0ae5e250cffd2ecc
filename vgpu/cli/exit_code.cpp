#include "cli/exit_code.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace vgpu::cli {

ExitCode exit_code_of(const gp::Error& error) {
  switch (error.code) {
    case EINVAL: return exit_usage;
    case ENODEV:
    case ENOENT:
    case ECONNREFUSED: return exit_no_device;
    case EACCES:
    case EPERM: return exit_permission;
    case ENOTSUP:
    case ENOSYS: return exit_unsupported;
    case ETIMEDOUT: return exit_timeout;
    default: return exit_failed;
  }
}

int report(const gp::Error& error) {
  std::fprintf(stderr, "vgpu: %s: %s\n", error.what.c_str(), std::strerror(error.code));
  if (!error.hint.empty()) {
    std::fprintf(stderr, "hint: %s\n", error.hint.c_str());
  }
  return exit_code_of(error);
}

}  // namespace vgpu::cli
