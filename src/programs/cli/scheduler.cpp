// What the daemon knows and does: gpreempt status, and the check of its configuration.
#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/json_field.h"
#include "cli/scheduler_view.h"
#include "cli/system.h"
#include "config/config.h"

namespace gp::cli {
namespace {

Result<std::string> ask_daemon(const std::string& socket) {
  return TRY(connect_to_daemon(socket)).text(wire::Kind::status);
}

// As the daemon has it now; null if it does not know the process.
nlohmann::json class_of(const nlohmann::json& status, pid_t pid) {
  for (const auto& job : field(status, "jobs")) {
    for (const auto& process : field(job, "processes")) {
      if (field(process, "pid") == pid && field(process, "part").is_null()) {
        return field(job, "class");
      }
    }
  }
  return nullptr;
}

Status change_class(const ClassOptions& options) {
  wire::Client client = TRY(connect_to_daemon(options.socket));
  wire::SetJob request;
  request.pid = static_cast<u32>(options.pid);
  request.work_class = wire::code_of(options.work_class);
  TRY(client.ask(request));
  const std::string text = TRY(client.text(wire::Kind::status));
  const auto now = class_of(nlohmann::json::parse(text, nullptr, false), options.pid);
  if (now.is_string() && now != name(options.work_class)) {
    return Error{
        EPERM,
        fmt::format("process {} is of class {} all the same", options.pid, now.get<std::string>()),
        "a rule or [[access]] in gpreemptd.toml says so, or the others of its job do"};
  }
  return ok();
}

}  // namespace

int set_class(const ClassOptions& options) {
  const Status changed = change_class(options);
  return changed ? exit_ok : report_error(changed.error());
}

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
