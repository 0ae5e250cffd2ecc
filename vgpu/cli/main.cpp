// vgpu: virtual AMD GPUs on the command line. The one place that knows CLI11.
#include <CLI/CLI.hpp>
#include <deque>

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

// Everything after "--", or after the first word that is not an option, is the command.
void add_command(CLI::App& command, std::vector<std::string>& words) {
  command.add_option("command", words, "The program and its arguments, after --")
      ->required()
      ->type_name("CMD...");
  command.positionals_at_end();
}

struct Arguments {
  std::string name, fault;
  std::vector<std::string> command;
  bool json = false, stats = false;
};

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
  app.footer(kExamples);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  Arguments given;
  constexpr char kOne[] = "One program", kMany[] = "A device for several programs",
                 kWatch[] = "Watching and testing";

  CLI::App* run_command =
      app.add_subcommand("run", "Run a program on a device of its own")->group(kOne);
  DeviceFlags run_flags(*run_command);
  run_command->add_flag("--stats", given.stats, "Show what the device did, at the end");
  add_command(*run_command, given.command);

  CLI::App* start_command = add_named(app, "start", "Start a device", given, kMany);
  DeviceFlags start_flags(*start_command);
  CLI::App* exec_command = add_named(app, "exec", "Run a program on it", given, kMany);
  add_command(*exec_command, given.command);
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

  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? exit_ok : exit_usage;
  }
  if (*run_command)
    return run(run_flags.given(), given.stats, given.command);
  if (*start_command)
    return start(given.name, start_flags.given());
  if (*exec_command)
    return exec(given.name, given.command);
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
