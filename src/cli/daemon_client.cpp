#include "cli/daemon_client.h"

#include <cerrno>

namespace gp::cli {

Result<control::Client> connect_to_daemon(const std::string& socket) {
  auto daemon = control::Client::connect(socket);
  if (!daemon && (daemon.error().code == ENOENT || daemon.error().code == ECONNREFUSED)) {
    return Error{ENODEV, "gpreemptd is not running", "start it: gpreemptd"};
  }
  return daemon;
}

}  // namespace gp::cli
