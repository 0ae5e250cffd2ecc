#include "daemon/options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "base/exit_code.h"
#include "config/config.h"
#include "wire/socket_path.h"

namespace gp::daemon {
namespace {

constexpr char kExamples[] =
    R"(SIGHUP reads the configuration again; if it is wrong, the old one stays.
SIGTERM starts everything that is stopped, and ends.

Example: gpreemptd --config ./my.toml --socket $XDG_RUNTIME_DIR/gp.sock)";

// Empty if $GPREEMPT_SOCKET is too long.
std::string default_socket() {
  std::string path(wire::kSocketPathBytes, '\0');
  if (!wire::socket_path(path.data(), wire::kSocketPathBytes)) {
    return {};
  }
  path.resize(path.find('\0'));
  return path;
}

}  // namespace

Options parse_options(int argc, const char* const* argv) {
  Options options;
  options.socket = default_socket();
  if (::access(config::kDefaultPath, F_OK) == 0) {
    options.config = config::kDefaultPath;
  }
  std::string level;
  bool version = false;
  CLI::App app("Lets online GPU work stop offline work, and gives the GPU back.", "gpreemptd");
  app.add_option("--config", options.config,
                 "Configuration (default: /etc/gpreempt/gpreemptd.toml if it exists)")
      ->type_name("FILE");
  app.add_option("--socket", options.socket,
                 "Where to listen (default: $GPREEMPT_SOCKET, else\n"
                 "/run/gpreempt/gpreemptd.sock, for users in $XDG_RUNTIME_DIR)")
      ->type_name("PATH");
  app.add_option("--log", level, "debug, info (default), warning or error")->type_name("LEVEL");
  app.add_flag("--version", version, "Show the version");
  app.footer(kExamples);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    options.exit_code = app.exit(help);
  } catch (const CLI::ParseError& error) {
    options.exit_code = report_usage(error.what(), "see gpreemptd --help");
  }
  if (options.exit_code) {
    return options;
  }
  if (version) {
    std::printf("gpreemptd %s\n", GPREEMPT_VERSION);
    options.exit_code = exit_ok;
  } else if (options.socket.empty()) {
    options.exit_code = report_usage("the socket's name is too long", "see --socket");
  } else if (!level.empty()) {
    if (const auto parsed = parse_log_level(level)) {
      options.log_level = *parsed;
    } else {
      options.exit_code = report_error(parsed.error());
    }
  }
  return options;
}

}  // namespace gp::daemon
