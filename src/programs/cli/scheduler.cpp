// What the daemon knows and does: gpreempt status, and the check of its configuration.
#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/scheduler_view.h"
#include "cli/system.h"
#include "config/config.h"

namespace gp::cli {
namespace {

Result<std::string> ask_daemon(const std::string& socket) {
  return TRY(connect_to_daemon(socket)).text(wire::Kind::status);
}

}  // namespace

int scheduler_status(const std::string& socket, bool json) {
  const Result<std::string> text = ask_daemon(socket);
  if (!text) {
    return report_error(text.error());
  }
  const auto status = nlohmann::json::parse(*text, nullptr, false);
  if (!status.is_object()) {
    return report_error(Error{EPROTO, "the daemon's answer cannot be understood",
                              "gpreempt and gpreemptd may be of different versions"});
  }
  if (json) {
    std::printf("%s\n",
                status.dump(2, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
  } else {
    std::fputs(scheduler_text(status).c_str(), stdout);
  }
  return exit_ok;
}

int check_config(const std::string& path) {
  const Result<config::Config> config = config::load(path);
  if (!config) {
    return report_error(config.error());
  }
  std::printf("%s: ok\n", path.c_str());
  return exit_ok;
}

}  // namespace gp::cli
