#include "server/options.h"

#include <CLI/CLI.hpp>
#include <cerrno>
#include <deque>
#include <map>

namespace vgpu::server {
namespace {

constexpr int kMaxFd = 1 << 20;

void declare_server(CLI::App& app, Options& options) {
  app.add_option("--dir", options.directory, "Runtime directory: socket, lock, log, device files")
      ->required()
      ->type_name("DIR");
  const auto set_level = [&options](const std::string& text) {
    const auto level = gp::parse_log_level(text);
    if (!level) {
      throw CLI::ValidationError("--log", level.error().message());
    }
    options.log_level = *level;
  };
  app.add_option_function<std::string>("--log,--log-level", set_level,
                                       "debug, info, warning or error (default: info)")
      ->type_name("LEVEL");
  app.add_option("--ready-fd", options.ready_fd, "Write \"ready\" or the error there, and close it")
      ->check(CLI::Range(0, kMaxFd).description(""))
      ->type_name("N");
  app.add_option("--lifetime-fd", options.lifetime_fd, "End when this pipe is closed")
      ->check(CLI::Range(0, kMaxFd).description(""))
      ->type_name("N");
}

void declare_device(CLI::App& app, protocol::DeviceDescription& device) {
  for (const protocol::DeviceOption& option : protocol::device_options()) {
    const auto set = [&device, &option](const std::string& text) {
      const gp::Status status = option.set(device, text);
      if (!status) {
        throw CLI::ValidationError(option.name, status.error().message());
      }
    };
    app.add_option_function<std::string>(option.name, set, option.help)
        ->type_name(option.value)
        ->default_str(option.initial)
        ->group("Device");
  }
}

}  // namespace

gp::Result<Options> parse_options(int argc, char** argv) {
  Options options;
  options.device = protocol::default_device();
  CLI::App app{"The server of virtual AMD GPUs. Normally started by vgpu run or vgpu start.",
               "vgpud"};
  declare_server(app, options);
  declare_device(app, options.device);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    options.help = app.help();
  } catch (const CLI::ParseError& error) {
    return gp::Error{EINVAL, error.what(), "see vgpud --help"};
  }
  return options;
}

}  // namespace vgpu::server
