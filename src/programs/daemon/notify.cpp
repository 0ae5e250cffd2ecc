#include "daemon/notify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/log.h"
#include "base/unique_fd.h"
#include "base/units.h"

namespace gp::daemon {

void notify_manager(std::string_view state) {
  const char* path = ::getenv("NOTIFY_SOCKET");
  if (path == nullptr || (path[0] != '/' && path[0] != '@')) {
    return;
  }
  sockaddr_un address{};
  const std::size_t length = std::strlen(path);
  if (length >= sizeof address.sun_path) {
    log_warning("NOTIFY_SOCKET is too long");
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (path[0] == '@') {
    address.sun_path[0] = '\0';  // an abstract address
  }
  const UniqueFd socket(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  if (::sendto(socket.get(), state.data(), state.size(), MSG_NOSIGNAL,
               reinterpret_cast<const sockaddr*>(&address), size) < 0) {
    log_warning("cannot tell the service manager {}: {}", state, std::strerror(errno));
  }
}

std::optional<u64> watchdog_interval_ns() {
  const char* text = ::getenv("WATCHDOG_USEC");
  if (text == nullptr) {
    return std::nullopt;
  }
  const auto limit_us = parse_number(text, 1, 3'600'000'000);
  return limit_us ? std::optional<u64>(*limit_us * 1000 / 2) : std::nullopt;
}

}  // namespace gp::daemon
