// run, cdi, status, class, config, trace: the daemon and its programs.
#include <memory>

#include "base/exit_code.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/line/line.h"
#include "cli/line/option.h"
#include "config/config.h"
#include "wire/wire.h"

namespace gp::cli {
namespace {

constexpr char kRunExamples[] = R"(Examples:
  gpreempt run --class online -- ./server
  gpreempt run --class offline --job resnet -- python train.py
  gpreempt run --streams -- ./both            streams of high priority are online, of low offline

The program runs unchanged: ROCr loads our agent into it, and the agent tells gpreemptd when it has
work and stops its queues when told to. Without a daemon it runs as ever.)";

constexpr char kCdiExamples[] = R"(Examples:
  gpreempt cdi --output /etc/cdi/gpreempt.json
  podman run --device gpreempt.io/class=offline --device /dev/kfd --device /dev/dri IMAGE python train.py
  docker run --device gpreempt.io/class=online ...       Docker 25 or newer, with its feature "cdi"

Podman, Docker, containerd and CRI-O then put the agent, the socket's directory and the variables
into a container: docs/containers.md.)";

constexpr char kStatusExamples[] = R"(Examples:
  gpreempt status
  gpreempt status --json | jq '.jobs[] | {job, state, preemptions}')";

constexpr char kClassExamples[] = R"(Examples:
  gpreempt class 1234 offline               online work stops it from now on
  gpreempt class 1234 online

It lasts until the process ends, or gpreemptd. Of streams in one program that are to have different
classes their priorities say which: gpreempt run --streams.)";

constexpr char kTraceExamples[] = R"(Examples:
  gpreempt trace                            gpreempt.pftrace, for https://ui.perfetto.dev
  gpreempt trace --output - | gzip > trace.gz
  gpreempt trace --json | jq '.events[] | select(.event == "process_stopped") | .value'

The daemon always keeps its last 4096 events; this writes them down.)";

Result<u32> parse_priority(const std::string& text) {
  const Result<u64> number = parse_number(text, 0, 15);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a priority", text), "0 to 15"};
  }
  return static_cast<u32>(*number);
}

// A name that fits into a message to the daemon.
Result<std::string> parse_name(const std::string& text) {
  if (text.empty() || text.size() >= sizeof(wire::SetJob::job)) {
    return Error{EINVAL, fmt::format("'{}' is not a name", text), "1 to 63 bytes"};
  }
  return text;
}

// The help of `run`, whose command CLI11 does not see.
class WithCommand : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App* app, std::string name) const override {
    std::string usage = CLI::Formatter::make_usage(app, std::move(name));
    usage.insert(usage.find_last_not_of('\n') + 1, " -- CMD [ARG...]");
    return usage;
  }
};

void add_run(CLI::App& app, Chosen& chosen, const std::vector<std::string>& program) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App& command = *app.add_subcommand("run", "Start a program that gpreemptd schedules");
  add_parsed(command, "--class", "CLASS", "offline, normal or online", options->work_class,
             parse_class);
  command.add_flag("--streams", options->streams,
                   "A HIP stream's priority is its class: high is online, low is offline");
  add_parsed(command, "--tag", "TAG", "A name to find its queues by", options->tag, parse_name);
  add_parsed(command, "--job", "JOB", "Programs of one job are stopped together", options->job,
             parse_name);
  add_parsed(command, "--priority", "N", "0 to 15, for the policy `priority`", options->priority,
             parse_priority);
  command.add_option("--socket", options->socket, "The daemon's socket")->type_name("PATH");
  command.formatter(std::make_shared<WithCommand>());
  command.footer(kRunExamples);
  command.callback([options, &chosen, &program] {
    chosen = [options, &program] {
      const char* example = options->streams ? "--streams" : "--class offline";
      if (!options->work_class && !options->streams) {
        return report_usage("--class is required, or --streams",
                            "gpreempt run --class offline -- PROGRAM ...");
      }
      if (program.empty()) {
        return report_usage("no program is given",
                            fmt::format("gpreempt run {} -- PROGRAM ...", example));
      }
      options->command = program;
      return run(std::move(*options));
    };
  });
}

void add_cdi(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<CdiOptions>();
  CLI::App& command =
      *app.add_subcommand("cdi", "Tell container runtimes of the classes, as devices (CDI)");
  command.add_option("--output", options->output, "The file (default: standard output)")
      ->type_name("FILE");
  command.add_option("--socket", options->socket, "The daemon's socket, on the host")
      ->type_name("PATH");
  command.footer(kCdiExamples);
  command.callback([options, &chosen] { chosen = [options] { return cdi(*options); }; });
}

void add_status(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::string socket;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command = *app.add_subcommand("status", "Show what gpreemptd knows and does");
  command.add_flag("--json", options->json, "Machine-readable");
  command.add_option("--socket", options->socket, "The daemon's socket")->type_name("PATH");
  command.footer(kStatusExamples);
  command.callback([options, &chosen] {
    chosen = [options] { return scheduler_status(options->socket, options->json); };
  });
}

Result<pid_t> parse_whole_process(const std::string& text) {
  if (text.find(':') != std::string::npos) {
    return Error{EINVAL, fmt::format("'{}': a queue has the class of its stream", text),
                 "gpreempt run --streams makes a stream's priority its class"};
  }
  return parse_pid(text);
}

void add_class(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ClassOptions>();
  CLI::App& command = *app.add_subcommand("class", "Give a process that runs another class");
  add_parsed(command, "pid", "PID", "The process", options->pid, parse_whole_process)->required();
  add_parsed(command, "class", "CLASS", "offline, normal or online", options->work_class,
             parse_class)
      ->required();
  command.add_option("--socket", options->socket, "The daemon's socket")->type_name("PATH");
  command.footer(kClassExamples);
  command.callback([options, &chosen] { chosen = [options] { return set_class(*options); }; });
}

void add_config(CLI::App& app, Chosen& chosen) {
  const auto path = std::make_shared<std::string>(config::kDefaultPath);
  CLI::App& command = *app.add_subcommand("config", "Check a configuration of gpreemptd");
  CLI::App& check = *command.add_subcommand("check", "Say what is wrong, with line and column");
  check.add_option("file", *path, "The file")->type_name("FILE")->capture_default_str();
  command.require_subcommand(1);
  check.callback([path, &chosen] { chosen = [path] { return check_config(*path); }; });
}

void add_trace(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<TraceOptions>();
  CLI::App& command = *app.add_subcommand("trace", "Write down what gpreemptd did, for Perfetto");
  command
      .add_option("--output", options->output,
                  "The file, - for standard output (default: gpreempt.pftrace)")
      ->type_name("FILE");
  command.add_flag("--json", options->json, "As JSON; by default on standard output");
  command.add_option("--socket", options->socket, "The daemon's socket")->type_name("PATH");
  command.footer(kTraceExamples);
  command.callback([options, &chosen] { chosen = [options] { return trace(*options); }; });
}

}  // namespace

void add_scheduler_commands(CLI::App& app, Chosen& chosen,
                            const std::vector<std::string>& program) {
  add_run(app, chosen, program);
  add_cdi(app, chosen);
  add_status(app, chosen);
  add_class(app, chosen);
  add_config(app, chosen);
  add_trace(app, chosen);
}

}  // namespace gp::cli
