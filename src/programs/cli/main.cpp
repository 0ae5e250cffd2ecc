// gpreempt: what users type.
#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/line/line.h"
#include "cli/line/option.h"

namespace gp::cli {
namespace {

constexpr char kExamples[] = R"(Examples:
  gpreempt demo                             see it work, without a GPU too: under two minutes
  gpreempt                                  is everything in place?
  gpreempt queues                           which queues there are, and whose they are
  gpreempt suspend --pid 1234 --for 5s      stop a process's queues for five seconds
  gpreempt doctor --pid 1234                can this process be stopped, and if not, why
  gpreempt run --class online -- ./server   let this program stop offline ones
  gpreempt status                           who is stopped, by what, how often

Exit codes: 0 ok, 1 failed, 2 usage, 3 no device or no daemon, 4 permission, 5 unsupported here,
6 timeout; `run` passes on the program's.)";

struct CommandLine {
  explicit CommandLine(std::vector<std::string> words_behind_dashes)
      : program(std::move(words_behind_dashes)) {
    app.require_subcommand(0, 1);
    app.add_flag("-V,--version", show_version, "Show the version");
    add_queue_commands(app, chosen);
    add_scheduler_commands(app, chosen, program);
    add_measuring_commands(app, chosen);
    app.add_subcommand("version", "Show the version")->callback([this] { chosen = version; });
    CLI::App* help = app.add_subcommand("help", "Show this, or the help of a command");
    help->add_option("command", help_about, "The command")->type_name("");
    help->callback([this] { chosen = [this] { return show_help(); }; });
    app.footer(kExamples);  // last: subcommands would inherit it
  }
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  int run() const;
  int show_help() const;

  CLI::App app{
      "Lets urgent work (online) stop other work (offline) on AMD GPUs in the middle of a kernel,\n"
      "and gives the GPU back with nothing lost.\n",
      "gpreempt"};
  const std::vector<std::string> program;
  Chosen chosen;
  bool show_version = false;
  std::vector<std::string> help_about;
};

int CommandLine::run() const {
  if (!program.empty() && !app.got_subcommand("run")) {
    return report_usage("only `run` takes a program behind --", "see gpreempt run --help");
  }
  if (show_version) {
    return version();
  }
  return chosen ? chosen() : status();
}

int CommandLine::show_help() const {
  if (help_about.empty()) {
    // Of a fresh one: where a command was given, CLI11 shows that command's help.
    std::fputs(CommandLine({}).app.help().c_str(), stdout);
    return exit_ok;
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == help_about.front()) {
      std::fputs(command->help("gpreempt").c_str(), stdout);
      return exit_ok;
    }
  }
  return report_usage(fmt::format("unknown command '{}'", help_about.front()),
                      "see gpreempt --help");
}

// `first` is the first word of the command line.
int explain(const CLI::ParseError& error, const CommandLine& line, const std::string& first) {
  if (!line.app.get_subcommands().empty()) {
    return report_usage(error.what(), fmt::format("see gpreempt {} --help", first));
  }
  return report_usage(
      fmt::format("unknown {} '{}'", first.starts_with("-") ? "option" : "command", first),
      "see gpreempt --help");
}

int main(int argc, char** argv) {
  // What follows "--" is the program of `run`: its options are not ours.
  char** const end = argv + argc;
  char** const separator =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  CommandLine line({separator == end ? end : separator + 1, end});
  try {
    line.app.parse(static_cast<int>(separator - argv), argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return line.app.exit(error);  // --help
    }
    return explain(error, line, argc > 1 ? argv[1] : "");
  }
  return line.run();
}

}  // namespace
}  // namespace gp::cli

int main(int argc, char** argv) { return gp::cli::main(argc, argv); }
