// gpreempt cdi: what a container runtime puts into a container of each class, so that one option,
// --device, is all that has to be said. The format is that of the Container Device Interface (the
// specification of cncf-tags/container-device-interface); 0.3.0 has all that is needed, and a
// runtime refuses a version, or a field, that it does not know.
#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "base/files.h"
#include "cli/commands.h"
#include "cli/tools_lib.h"
#include "wire/socket_path.h"

namespace gp::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr char kKind[] = "gpreempt.io/class";
constexpr char kAgentInside[] = "/opt/gpreempt/libgpreempt_agent.so";
constexpr char kRunInside[] = "/run/gpreempt";

struct Device {
  const char* name;
  const char* variable;
};
constexpr Device kDevices[] = {{"online", "GPREEMPT_CLASS=online"},
                               {"offline", "GPREEMPT_CLASS=offline"},
                               {"normal", "GPREEMPT_CLASS=normal"},
                               {"streams", "GPREEMPT_STREAM_CLASSES=1"}};

bool has_directory(const fs::path& socket) {
  std::error_code code;
  return fs::is_directory(socket.parent_path(), code);
}

// The one that was named, the user's, or the system's where the user has none.
Result<fs::path> choose_socket(const std::string& named) {
  char usual[wire::kSocketPathBytes];
  if (named.empty() && !wire::socket_path(usual, sizeof usual)) {
    return Error{ENAMETOOLONG, "the path of the socket", ""};
  }
  fs::path socket = named.empty() ? usual : named;
  const char* second = wire::second_socket_path();
  if (named.empty() && !has_directory(socket) && second != nullptr) {
    socket = second;
  }
  if (!socket.is_absolute()) {
    return Error{EINVAL, fmt::format("the socket {}", socket.string()), "an absolute path"};
  }
  return socket;
}

// Without a type, which 0.3.0 does not have, a mount is a bind mount by its options.
ordered_json mount(const std::string& outside, const char* inside) {
  return {{"hostPath", outside},
          {"containerPath", inside},
          {"options", {"ro", "nosuid", "nodev", "bind"}}};
}

std::string specification(const std::string& agent, const fs::path& socket) {
  ordered_json devices = ordered_json::array();
  for (const Device& device : kDevices) {
    devices.push_back({{"name", device.name}, {"containerEdits", {{"env", {device.variable}}}}});
  }
  const ordered_json env = {
      fmt::format("HSA_TOOLS_LIB={}", kAgentInside),
      fmt::format("GPREEMPT_SOCKET={}/{}", kRunInside, socket.filename().string())};
  // The directory of the socket and not the socket: a restarted daemon makes a new one.
  const ordered_json mounts = {mount(agent, kAgentInside),
                               mount(socket.parent_path().string(), kRunInside)};
  const ordered_json document = {{"cdiVersion", "0.3.0"},
                                 {"kind", kKind},
                                 {"devices", devices},
                                 {"containerEdits", {{"env", env}, {"mounts", mounts}}}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Status write(const CdiOptions& options) {
  const std::string agent = TRY(find_agent());
  const fs::path socket = TRY(choose_socket(options.socket));
  if (!has_directory(socket)) {
    std::fprintf(stderr,
                 "warning: there is no %s: no container of these devices starts before gpreemptd "
                 "has made it\n",
                 socket.parent_path().c_str());
  }
  const std::string text = specification(agent, socket);
  if (options.output.empty() || options.output == "-") {
    std::fputs(text.c_str(), stdout);
    return ok();
  }
  if (const Status written = write_file(options.output, text); !written) {
    return Error(written.error())
        .with_hint("runtimes look in /etc/cdi and /run/cdi, which root makes and writes to");
  }
  fmt::print("{}: devices", options.output);
  for (const Device& device : kDevices) {
    fmt::print(" {}={}", kKind, device.name);
  }
  fmt::print("\n");
  return ok();
}

}  // namespace

int cdi(const CdiOptions& options) {
  const Status done = write(options);
  return done ? exit_ok : report_error(done.error());
}

}  // namespace gp::cli
