#include "daemon/options.h"

#include <getopt.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

#include "config/config.h"
#include "control/socket_path.h"

namespace gp::daemon {
namespace {

Result<std::string> default_socket() {
  std::string path(control::kSocketPathBytes, '\0');
  if (!control::socket_path(path.data(), control::kSocketPathBytes)) {
    return Error{ENAMETOOLONG, "GPREEMPT_SOCKET", ""};
  }
  path.resize(path.find('\0'));
  return path;
}

Result<LogLevel> log_level_of(std::string_view name) {
  if (name == "debug") {
    return LogLevel::debug;
  }
  if (name == "info") {
    return LogLevel::info;
  }
  if (name == "warning") {
    return LogLevel::warning;
  }
  if (name == "error") {
    return LogLevel::error;
  }
  return Error{EINVAL, "--log " + std::string(name), "debug, info, warning or error"};
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  enum : int { kConfig = 1, kSocket, kForeground, kLog, kHelp, kVersion };
  static const option kOptions[] = {{"config", required_argument, nullptr, kConfig},
                                    {"socket", required_argument, nullptr, kSocket},
                                    {"foreground", no_argument, nullptr, kForeground},
                                    {"log", required_argument, nullptr, kLog},
                                    {"help", no_argument, nullptr, kHelp},
                                    {"version", no_argument, nullptr, kVersion},
                                    {}};
  Options options;
  options.socket = TRY(default_socket());
  if (::access(config::kDefaultPath, F_OK) == 0) {
    options.config = config::kDefaultPath;
  }
  opterr = 0;
  for (int option; (option = ::getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
    switch (option) {
      case kConfig: options.config = optarg; break;
      case kSocket: options.socket = optarg; break;
      case kForeground: break;  // it always stays there: the service manager's business
      case kLog: options.log_level = TRY(log_level_of(optarg)); break;
      case kHelp: options.help = true; break;
      case kVersion: options.version = true; break;
      default: return Error{EINVAL, std::string(argv[optind - 1]), "see gpreemptd --help"};
    }
  }
  if (optind < argc) {
    return Error{EINVAL, std::string(argv[optind]), "gpreemptd takes no arguments: --help"};
  }
  return options;
}

std::string help_text() {
  return "gpreemptd: lets online GPU work stop offline work, and gives the GPU back\n"
         "\n"
         "  gpreemptd [--config FILE] [--socket PATH] [--foreground] [--log LEVEL]\n"
         "\n"
         "  --config FILE   configuration (default: /etc/gpreempt/gpreemptd.toml if it exists)\n"
         "  --socket PATH   where to listen (default: $GPREEMPT_SOCKET, else\n"
         "                  /run/gpreempt/gpreemptd.sock, or in $XDG_RUNTIME_DIR for users)\n"
         "  --foreground    accepted for clarity: it never goes to the background\n"
         "  --log LEVEL     debug, info (default), warning or error\n"
         "\n"
         "SIGHUP reads the configuration again; if it is wrong, the old one stays.\n"
         "SIGTERM starts everything that is stopped, and ends.\n"
         "\n"
         "Example: gpreemptd --config ./my.toml --socket /tmp/gp.sock\n";
}

}  // namespace gp::daemon
