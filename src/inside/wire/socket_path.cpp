#include "wire/socket_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace gp::wire {
namespace {

// Programs with raised privileges do not believe their environment.
const char* setting(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr && value[0] != '\0' ? value : nullptr;
}

bool fits(int length, u32 bytes) { return length > 0 && static_cast<u32>(length) < bytes; }

}  // namespace

bool socket_path(char* path, u32 bytes) {
  if (const char* chosen = setting("GPREEMPT_SOCKET")) {
    return fits(snprintf(path, bytes, "%s", chosen), bytes);
  }
  const char* runtime_directory = geteuid() == 0 ? nullptr : setting("XDG_RUNTIME_DIR");
  return fits(snprintf(path, bytes, "%s/gpreempt/gpreemptd.sock",
                       runtime_directory != nullptr ? runtime_directory : "/run"),
              bytes);
}

const char* second_socket_path() {
  const bool has_own = geteuid() != 0 && setting("XDG_RUNTIME_DIR") != nullptr;
  return has_own && setting("GPREEMPT_SOCKET") == nullptr ? "/run/gpreempt/gpreemptd.sock"
                                                          : nullptr;
}

}  // namespace gp::wire
