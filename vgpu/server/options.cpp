#include "server/options.h"

#include <fmt/format.h>

#include <cerrno>
#include <string_view>

#include "base/units.h"
#include "server/device_options.h"

namespace vgpu::server {
namespace {

constexpr u64 kMaxFd = 1 << 20;

Status set_log_level_option(Options& options, std::string_view value) {
  if (value == "debug") {
    options.log_level = LogLevel::debug;
  } else if (value == "info") {
    options.log_level = LogLevel::info;
  } else if (value == "warning") {
    options.log_level = LogLevel::warning;
  } else {
    return Error{EINVAL, fmt::format("option --log-level: '{}'", value), "debug, info or warning"};
  }
  return ok();
}

Status set_option(Options& options, std::string_view name, std::string_view value) {
  if (name == "--dir") {
    options.directory = value;
    return ok();
  }
  if (name == "--log-level") {
    return set_log_level_option(options, value);
  }
  if (name == "--ready-fd") {
    options.ready_fd = static_cast<int>(TRY(parse_number(value, 0, kMaxFd)));
    return ok();
  }
  if (name == "--lifetime-fd") {
    options.lifetime_fd = static_cast<int>(TRY(parse_number(value, 0, kMaxFd)));
    return ok();
  }
  return set_device_option(options.device, name, value);
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  Options options;
  options.device = default_device();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument == "--help" || argument == "-h") {
      options.help = true;
      return options;
    }
    const std::size_t equals = argument.find('=');
    if (!argument.starts_with("--")) {
      return Error{EINVAL, fmt::format("unexpected argument '{}'", argument), "see vgpud --help"};
    }
    if (equals != std::string_view::npos) {
      TRY(set_option(options, argument.substr(0, equals), argument.substr(equals + 1)));
    } else if (i + 1 < argc) {
      TRY(set_option(options, argument, argv[++i]));
    } else {
      return Error{EINVAL, fmt::format("option {} needs a value", argument), "see vgpud --help"};
    }
  }
  if (options.directory.empty()) {
    return Error{EINVAL, "no runtime directory", "give one with --dir, or use vgpu start"};
  }
  return options;
}

std::string help_text() {
  std::string text =
      "Usage: vgpud --dir DIR [options]\n\n"
      "The server of virtual AMD GPUs. Normally started by vgpu run or vgpu start.\n\n"
      "  --dir DIR            runtime directory: socket, lock, log, device files\n"
      "  --log-level LEVEL    debug, info or warning (default: info)\n"
      "  --ready-fd N         write \"ready\" or the error there, and close it\n"
      "  --lifetime-fd N      end when this pipe is closed\n\nDevice:\n";
  for (const DeviceOption& option : device_options()) {
    const std::string name = fmt::format("{} {}", option.name, option.value);
    text += fmt::format("  {:<20} {}", name, option.help);
    text += *option.initial ? fmt::format(" (default: {})\n", option.initial) : "\n";
  }
  return text;
}

}  // namespace vgpu::server
