#include "cli/environment.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/exit_code.h"
#include "cli/places.h"
#include "protocol/wire.h"

namespace vgpu::cli {

gp::Status enter_device(const std::string& directory) {
  const std::string preload = TRY(find_preload());
  if (preload.find_first_of(" :") != std::string::npos) {
    return gp::Error{ENOTSUP, "LD_PRELOAD cannot name " + preload,
                     "move gpreempt to a path without spaces and colons"};
  }
  // Other preloaded libraries stay. Ours may be there already: vgpu run inside vgpu run.
  const char* others = std::getenv("LD_PRELOAD");
  std::string list = preload;
  if (others != nullptr && std::strstr(others, preload.c_str()) != nullptr) {
    list = others;
  } else if (others != nullptr && others[0] != '\0') {
    list += std::string(":") + others;
  }
  ::setenv("LD_PRELOAD", list.c_str(), 1);
  ::setenv(wire::kEnvironment, directory.c_str(), 1);
  // ROCm's host memory comes from the device file, which the server shares (libvgpu.so sees to it
  // too, but some shells do not like their environment changed under them).
  ::setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 1);
  return gp::ok();
}

int execute(char* const* command) {
  ::execvp(command[0], command);
  return gp::report_not_started(command[0], errno);
}

}  // namespace vgpu::cli
