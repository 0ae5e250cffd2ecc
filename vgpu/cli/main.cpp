// vgpu: virtual AMD GPUs on the command line. The one place that knows CLI11.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "protocol/device_options.h"

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
    for (const protocol::DeviceOption& option : protocol::device_options()) {
      values_.emplace_back(option.name, "");
      CLI::Option* added = command.add_option(option.name, values_.back().second, option.help);
      added->group("Device")->type_name(option.value)->default_str(option.initial);
      added->check([&option](const std::string& text) {
        protocol::DeviceDescription scratch;
        const gp::Status status = option.set(scratch, text);
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
  const auto options = protocol::device_options();
  return next != "on" && next != "off" &&
         std::any_of(options.begin(), options.end(), [&](const protocol::DeviceOption& option) {
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
  return gp::report_usage(what, "see " + help + " --help");
}

// The command line as it is declared, and what was given of it.
struct Commands {
  CLI::App app{
      "Virtual AMD GPUs: unmodified ROCm programs run, share and are preempted without "
      "hardware.",
      "vgpu"};
  Arguments given;
  CLI::App *run = nullptr, *start = nullptr, *exec = nullptr, *stop = nullptr, *list = nullptr,
           *stats = nullptr, *inject = nullptr;
  std::optional<DeviceFlags> run_flags, start_flags;

  CLI::App* add(const char* verb, const char* help, const char* group) {
    return app.add_subcommand(verb, help)->group(group);
  }
  CLI::App* add_named(const char* verb, const char* help, const char* group) {
    CLI::App* command = add(verb, help, group);
    command->add_option("name", given.name, "The device's name")->required()->type_name("NAME");
    return command;
  }
};

void declare_run(Commands& commands) {
  commands.run = commands.add("run", "Run a program on a device of its own", "One program");
  commands.run_flags.emplace(*commands.run);
  commands.run->add_flag("--stats", commands.given.stats, "Show what the device did, at the end");
  commands.run->formatter(std::make_shared<CommandFormatter>());
  commands.run->footer("Example: vgpu run --cus 16 --stats -- ./program --its-option");
}

void declare_devices(Commands& commands) {
  constexpr char kGroup[] = "A device for several programs";
  commands.start = commands.add_named("start", "Start a device", kGroup);
  commands.start_flags.emplace(*commands.start);
  commands.exec = commands.add_named("exec", "Run a program on it", kGroup);
  commands.exec->formatter(std::make_shared<CommandFormatter>());
  commands.stop = commands.add_named("stop", "End it; its programs lose the GPU", kGroup);
  commands.list = commands.add("list", "Show the devices that run", kGroup);
  commands.list->add_flag("--json", commands.given.json, "Machine-readable");
}

void declare_watching(Commands& commands) {
  constexpr char kGroup[] = "Watching and testing";
  Arguments& given = commands.given;
  commands.stats = commands.add("stats", "Show GPUs and queues of a device", kGroup);
  commands.stats
      ->add_option("name", given.name,
                   "The device's name (default: the only one, or the one this "
                   "program runs on)")
      ->type_name("NAME");
  commands.stats->add_flag("--json", given.json, "Machine-readable");
  commands.inject = commands.add_named(
      "inject", "Make the device misbehave: suspend-fails, unmap-delay=20ms, ...", kGroup);
  commands.inject->add_option("fault", given.fault, "What to inject; an unknown one lists them all")
      ->required()
      ->type_name("FAULT");
}

// An exit code if there is nothing left to do: help was asked for, or the usage is wrong.
std::optional<int> parse(Commands& commands, CommandLine& line) {
  const std::string first = line.options.empty() ? "" : line.options.back();
  try {
    commands.app.parse(std::move(line.options));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return commands.app.exit(error);  // --help
    }
    if (!commands.app.get_subcommands().empty()) {
      return usage_error(error.what(), "vgpu " + first);
    }
    const char* kind = first.starts_with("-") ? "option" : "command";
    return usage_error(
        first.empty() ? "which command?" : std::string("unknown ") + kind + " '" + first + "'",
        "vgpu");
  }
  const bool takes_command = *commands.run || *commands.exec;
  if (takes_command != line.has_command || (takes_command && line.command.empty())) {
    return usage_error(
        takes_command ? "which program? It follows after --" : "only run and exec take a program",
        "vgpu " + first);
  }
  return std::nullopt;
}

int carry_out(const Commands& commands, const std::vector<std::string>& command) {
  const Arguments& given = commands.given;
  if (*commands.run)
    return run(commands.run_flags->given(), given.stats, command);
  if (*commands.start)
    return start(given.name, commands.start_flags->given());
  if (*commands.exec)
    return exec(given.name, command);
  if (*commands.stop)
    return stop(given.name);
  if (*commands.list)
    return list(given.json);
  if (*commands.stats)
    return stats(given.name, given.json);
  return inject(given.name, given.fault);
}

int main(int argc, char** argv) {
  Commands commands;
  commands.app.require_subcommand(1);
  declare_run(commands);
  declare_devices(commands);
  declare_watching(commands);
  commands.app.footer(kExamples);  // last: subcommands would inherit it
  CommandLine line = split(argc, argv);
  const std::optional<int> exit_code = parse(commands, line);
  return exit_code ? *exit_code : carry_out(commands, line.command);
}

}  // namespace
}  // namespace vgpu::cli

int main(int argc, char** argv) { return vgpu::cli::main(argc, argv); }
