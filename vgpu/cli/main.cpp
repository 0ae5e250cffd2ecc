// vgpu: virtual AMD GPUs on the command line. The one place that knows CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <deque>
#include <memory>
#include <string_view>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "server/device_options.h"

namespace vgpu::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  vgpu run -- rocminfo                        a program on a GPU of its own
  vgpu run --gpus 2 --hqds 4 -- ./train       two GPUs with four queue slots each
  vgpu start lab --kfd dkms                   a GPU that several programs share
  vgpu exec lab -- ./infer & vgpu exec lab -- ./train
  vgpu stats lab                              what it did
  vgpu inject lab unmap-delay=20ms            a fault, for tests
  vgpu stop lab

Exit codes: 0 ok, 1 failed, 2 usage, 3 no such device, 4 permission, 5 unsupported, 6 timeout;
run and exec return what the program returns (128 + N if signal N ended it).)";

// The device options of `run` and `start`, from the table that vgpud parses them with.
class DeviceFlags {
 public:
  explicit DeviceFlags(CLI::App& command) {
    for (const server::DeviceOption& option : server::device_options()) {
      values_.emplace_back(option.name, "");
      CLI::Option* added = command.add_option(option.name, values_.back().second, option.help);
      added->group("Device")->type_name(option.value)->default_str(option.initial);
      added->check([&option](const std::string& text) {
        driver::DriverConfig scratch;
        const Status status = option.set(scratch, text);
        return status ? std::string() : status.error().message();
      });
    }
  }
  DeviceOptions given() const {
    DeviceOptions options;
    for (const auto& [name, value] : values_) {
      if (!value.empty()) {
        options.words.insert(options.words.end(), {name, value});
      }
    }
    return options;
  }

 private:
  std::deque<std::pair<std::string, std::string>> values_;  // CLI11 keeps references
};

// `run` and `exec` take a program after "--". It is split off before CLI11 sees it: CLI11 would
// give words such as [a,b] or an empty one a meaning of their own.
class CommandFormatter : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    usage.insert(usage.find_last_not_of('\n') + 1, " -- CMD [ARG...]");
    return usage;
  }
};

struct CommandLine {
  std::vector<std::string> options;  // reversed, as CLI11 wants them
  std::vector<std::string> command;
  bool has_command = false;  // there was a "--"
};

// An option that takes on or off means on if it stands alone. CLI11 would take the next word,
// whatever it is.
bool is_switch_alone(std::string_view word, std::string_view next) {
  const auto options = server::device_options();
  return next != "on" && next != "off" &&
         std::any_of(options.begin(), options.end(), [&](const server::DeviceOption& option) {
           return word == option.name && std::string_view(option.value) == "on|off";
         });
}

CommandLine split(int argc, char** argv) {
  CommandLine line;
  for (int i = 1; i < argc; ++i) {
    if (line.has_command) {
      line.command.emplace_back(argv[i]);
    } else if (std::string_view(argv[i]) == "--") {
      line.has_command = true;
    } else {
      line.options.insert(line.options.begin(), argv[i]);
      if (is_switch_alone(argv[i], i + 1 < argc ? argv[i + 1] : "")) {
        line.options.insert(line.options.begin(), "on");
      }
    }
  }
  return line;
}

struct Arguments {
  std::string name, fault;
  bool json = false, stats = false;
};

int usage_error(const std::string& what, const std::string& help) {
  std::fprintf(stderr, "vgpu: %s\nhint: see %s --help\n", what.c_str(), help.c_str());
  return exit_usage;
}

CLI::App* add_named(CLI::App& app, const char* verb, const char* help, Arguments& arguments,
                    const char* group) {
  CLI::App* command = app.add_subcommand(verb, help)->group(group);
  command->add_option("name", arguments.name, "The device's name")->required()->type_name("NAME");
  return command;
}

int main(int argc, char** argv) {
  CLI::App app{
      "Virtual AMD GPUs: unmodified ROCm programs run, share and are preempted without "
      "hardware.",
      "vgpu"};
  app.require_subcommand(1);
  Arguments given;
  constexpr char kOne[] = "One program", kMany[] = "A device for several programs",
                 kWatch[] = "Watching and testing";

  CLI::App* run_command =
      app.add_subcommand("run", "Run a program on a device of its own")->group(kOne);
  DeviceFlags run_flags(*run_command);
  run_command->add_flag("--stats", given.stats, "Show what the device did, at the end");
  run_command->formatter(std::make_shared<CommandFormatter>());
  run_command->footer("Example: vgpu run --cus 16 --stats -- ./program --its-option");

  CLI::App* start_command = add_named(app, "start", "Start a device", given, kMany);
  DeviceFlags start_flags(*start_command);
  CLI::App* exec_command = add_named(app, "exec", "Run a program on it", given, kMany);
  exec_command->formatter(std::make_shared<CommandFormatter>());
  CLI::App* stop_command =
      add_named(app, "stop", "End it; its programs lose the GPU", given, kMany);
  CLI::App* list_command = app.add_subcommand("list", "Show the devices that run")->group(kMany);
  list_command->add_flag("--json", given.json, "Machine-readable");

  CLI::App* stats_command =
      app.add_subcommand("stats", "Show GPUs and queues of a device")->group(kWatch);
  stats_command
      ->add_option("name", given.name,
                   "The device's name (default: the only one, or the one this "
                   "program runs on)")
      ->type_name("NAME");
  stats_command->add_flag("--json", given.json, "Machine-readable");
  CLI::App* inject_command =
      add_named(app, "inject", "Make the device misbehave: suspend-fails, unmap-delay=20ms, ...",
                given, kWatch);
  inject_command->add_option("fault", given.fault, "What to inject; an unknown one lists them all")
      ->required()
      ->type_name("FAULT");

  app.footer(kExamples);  // last: subcommands would inherit it
  CommandLine line = split(argc, argv);
  const std::string first = line.options.empty() ? "" : line.options.back();
  try {
    app.parse(std::move(line.options));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);  // --help
    }
    if (app.get_subcommands().empty()) {
      const char* kind = first.starts_with("-") ? "option" : "command";
      return usage_error(
          first.empty() ? "which command?" : std::string("unknown ") + kind + " '" + first + "'",
          "vgpu");
    }
    return usage_error(error.what(), "vgpu " + first);
  }
  const bool takes_command = *run_command || *exec_command;
  if (takes_command != line.has_command || (takes_command && line.command.empty())) {
    return usage_error(
        takes_command ? "which program? It follows after --" : "only run and exec take a program",
        "vgpu " + first);
  }
  if (*run_command)
    return run(run_flags.given(), given.stats, line.command);
  if (*start_command)
    return start(given.name, start_flags.given());
  if (*exec_command)
    return exec(given.name, line.command);
  if (*stop_command)
    return stop(given.name);
  if (*list_command)
    return list(given.json);
  if (*stats_command)
    return stats(given.name, given.json);
  return inject(given.name, given.fault);
}

}  // namespace
}  // namespace vgpu::cli

int main(int argc, char** argv) { return vgpu::cli::main(argc, argv); }
