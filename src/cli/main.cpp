// gpreempt: what users type. The one place that knows CLI11.
#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <climits>
#include <cstdio>

#include "base/units.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "config/config.h"
#include "control/wire.h"

namespace gp::cli {
namespace {

constexpr u64 kLongestLeaseNs = std::chrono::nanoseconds(mechanism::kLongestLease).count();
constexpr u32 kHighestQueueId = 1023;  // KFD has 1024 ids per process

constexpr char kExamples[] = R"(Examples:
  gpreempt                                  is everything in place?
  gpreempt queues                           which queues there are, and whose they are
  gpreempt suspend --pid 1234 --for 5s      stop a process's queues for five seconds
  gpreempt doctor --pid 1234                can this process be stopped, and if not, why
  gpreempt run --class online -- ./server   let this program stop offline ones
  gpreempt status                           who is stopped, by what, how often

Exit codes: 0 ok, 1 failed, 2 usage, 3 no device or no daemon, 4 permission, 5 unsupported here,
6 timeout; `run` passes on the program's.)";

constexpr char kQueuesExamples[] = R"(Examples:
  gpreempt queues --class offline
  gpreempt queues --json | jq '.queues[] | select(.active)'
  gpreempt queues --watch --pid 1234
  gpreempt queues --exists 1234:2 && echo yes
  gpreempt queues --debugfs ./saved         a folder with copies of mqds, hqds, rls)";

constexpr char kSuspendExamples[] = R"(Examples:
  gpreempt suspend --pid 1234 --for 5s
  gpreempt suspend --pid 1234 --queue 0 --queue 2 --for 200ms
  gpreempt suspend --pid 1234 --mechanism criu --for 1min

The command stays in the foreground. The queues run again when the time is over, on Ctrl-C,
SIGTERM or `gpreempt resume`, and when the command dies in any way.)";

constexpr char kResumeExamples[] = R"(Examples:
  gpreempt resume --pid 1234                end `gpreempt suspend --pid 1234 ...` of this user
  gpreempt resume                           end all of this user's

It asks the suspending command to end, and waits for it. What other users or programs have
stopped is theirs to restart.)";

constexpr char kDoctorExamples[] = R"(Examples:
  gpreempt doctor                           device, permissions, driver
  gpreempt doctor --pid 1234                also: which ways to stop this process work
  gpreempt doctor --json

With --pid each way is tried on the process: its queues are taken off the GPU for a moment.)";

constexpr char kRunExamples[] = R"(Examples:
  gpreempt run --class online -- ./server
  gpreempt run --class offline --job resnet -- python train.py

The program runs unchanged: ROCr loads our agent into it, and the agent tells gpreemptd when it has
work and stops its queues when told to. Without a daemon it runs as ever.)";

constexpr char kStatusExamples[] = R"(Examples:
  gpreempt status
  gpreempt status --json | jq '.jobs[] | {job, state, preemptions}')";

constexpr char kDemoExamples[] = R"(Examples:
  gpreempt demo                             four phases, a table, gpreempt-demo/report.html
  gpreempt demo --json phases.json --output /tmp/demo
  gpreempt demo --virtual-gpu               even if there is a GPU

Online alone, offline alone, both without gpreempt, both with; about 80 seconds in all. Without a
GPU it starts a virtual one and a daemon of its own, and leaves neither behind.)";

constexpr char kReportExamples[] = R"(Examples:
  gpreempt report results                   results/results.json -> results/report.html
  gpreempt report results --output /tmp/report.html

The page needs nothing beside it: it can be mailed, printed, and read without a network.)";

constexpr char kTraceExamples[] = R"(Examples:
  gpreempt trace                            gpreempt.pftrace, for https://ui.perfetto.dev
  gpreempt trace --output - | gzip > trace.gz
  gpreempt trace --json | jq '.events[] | select(.event == "process_stopped") | .value'

The daemon always keeps its last 4096 events; this writes them down.)";

int usage_error(const std::string& what, const std::string& hint) {
  std::fprintf(stderr, "gpreempt: %s\nhint: %s\n", what.c_str(), hint.c_str());
  return exit_usage;
}

// What an option's value must be, told by the parser that is used for it.
template <class T, class Parse>
CLI::Option* add_parsed(CLI::App& command, const char* option, const char* type, const char* help,
                        T& value, Parse parse) {
  return command
      .add_option_function<std::string>(
          option,
          [&value, parse](const std::string& text) {
            auto parsed = parse(text);
            if (!parsed) {
              const Error& error = parsed.error();
              throw CLI::ValidationError(
                  error.hint.empty() ? error.what : fmt::format("{} ({})", error.what, error.hint));
            }
            value = *parsed;
          },
          help)
      ->type_name(type);
}

Result<pid_t> parse_pid(const std::string& text) {
  const Result<u64> number = parse_number(text, 1, INT_MAX);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a process id", text), ""};
  }
  return static_cast<pid_t>(*number);
}

Result<u32> parse_queue_id(const std::string& text) {
  const Result<u64> number = parse_number(text, 0, kHighestQueueId);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a queue id", text), "0 to 1023"};
  }
  return static_cast<u32>(*number);
}

Result<std::pair<pid_t, u32>> parse_pid_and_queue(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos) {
    return Error{EINVAL, fmt::format("'{}' is not PID:QUEUE", text), "as in 1234:0"};
  }
  const pid_t pid = TRY(parse_pid(text.substr(0, colon)));
  return std::pair{pid, TRY(parse_queue_id(text.substr(colon + 1)))};
}

Result<discover::WorkClass> parse_class(const std::string& text) {
  using discover::WorkClass;
  for (const WorkClass each : {WorkClass::offline, WorkClass::normal, WorkClass::online}) {
    if (text == name(each)) {
      return each;
    }
  }
  return Error{EINVAL, fmt::format("'{}' is not a class", text), "offline, normal or online"};
}

Result<std::chrono::nanoseconds> parse_lease(const std::string& text) {
  const u64 nanoseconds = TRY(parse_duration_ns(text));
  if (nanoseconds == 0 || nanoseconds > kLongestLeaseNs) {
    return Error{EINVAL, fmt::format("'{}' is not a time to stop for", text),
                 "more than 0, at most 24 hours"};
  }
  return std::chrono::nanoseconds(nanoseconds);
}

Result<mechanism::Id> parse_mechanism(const std::string& text) {
  if (const mechanism::Info* info = mechanism::find(text)) {
    return info->id;
  }
  std::string names;
  for (const mechanism::Info& info : mechanism::table()) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", info.name);
  }
  return Error{EINVAL, fmt::format("'{}' is not a mechanism", text), names};
}

Result<std::string> parse_directory(const std::string& text) {
  struct stat status {};
  if (::stat(text.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
    return Error{EINVAL, fmt::format("'{}' is not a folder", text), ""};
  }
  return text;
}

Result<u32> parse_grace(const std::string& text) {
  const Result<u64> number = parse_number(text, 1, 255);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a grace period", text),
                 "1 to 255, in units of 1024 GPU clocks"};
  }
  return static_cast<u32>(*number);
}

Result<u32> parse_priority(const std::string& text) {
  const Result<u64> number = parse_number(text, 0, 15);
  if (!number) {
    return Error{EINVAL, fmt::format("'{}' is not a priority", text), "0 to 15"};
  }
  return static_cast<u32>(*number);
}

constexpr char kBenchExamples[] = R"(Examples:
  gpreempt bench                            all scenarios, their short forms
  gpreempt bench --list
  gpreempt bench beside throughput          these two
  gpreempt bench stability --full --duration 1h

Each scenario has criteria. One that is not met is printed as FAILED with its number, and the exit
code is 1. NOISE is how far two like runs were apart on this machine.)";

Result<std::optional<std::chrono::milliseconds>> parse_bench_duration(const std::string& text) {
  const auto duration = std::chrono::nanoseconds(TRY(parse_duration_ns(text)));
  if (duration < std::chrono::seconds(1)) {
    return Error{EINVAL, fmt::format("'{}' is too short to measure anything", text), "1s or more"};
  }
  return std::optional(std::chrono::duration_cast<std::chrono::milliseconds>(duration));
}

Result<std::chrono::milliseconds> parse_phase(const std::string& text) {
  const auto duration = std::chrono::nanoseconds(TRY(parse_duration_ns(text)));
  if (duration < std::chrono::seconds(1) || duration > std::chrono::minutes(1)) {
    return Error{EINVAL, fmt::format("'{}' is not the length of a phase", text), "1s to 1min"};
  }
  return std::chrono::duration_cast<std::chrono::milliseconds>(duration);
}

// A name that fits into a message to the daemon.
Result<std::string> parse_name(const std::string& text) {
  if (text.empty() || text.size() >= sizeof(control::SetJob::job)) {
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

// The commands, their options, and what was given.
struct CommandLine {
  CLI::App app{"Know every GPU queue on this machine, stop and restart any of them safely.",
               "gpreempt"};
  QueuesOptions queues;
  SuspendOptions suspend;
  std::optional<pid_t> resume_pid, doctor_pid;
  RunOptions run_options;
  DemoOptions demo_options;
  BenchOptions bench_options;
  TraceOptions trace_options;
  std::string report_directory, report_output;
  std::string socket, config_path = config::kDefaultPath;
  bool doctor_json = false, status_json = false, show_version = false;
  std::vector<std::string> help_about;
  CLI::App *report_command = nullptr, *trace_command = nullptr;
  CLI::App *queues_command = nullptr, *suspend_command = nullptr, *resume_command = nullptr,
           *doctor_command = nullptr, *run_command = nullptr, *status_command = nullptr,
           *demo_command = nullptr, *bench_command = nullptr, *config_command = nullptr,
           *version_command = nullptr, *help_command = nullptr;

  CommandLine();
  void add_queues();
  void add_suspend();
  void add_run();
  void add_status();
  void add_report();
  void add_trace();
  void add_demo();
  void add_bench();
  int run();
  int show_help() const;
};

CommandLine::CommandLine() {
  app.require_subcommand(0, 1);
  app.add_flag("-V,--version", show_version, "Show the version");
  add_queues();
  add_suspend();
  resume_command = app.add_subcommand("resume", "End what `gpreempt suspend` holds");
  add_parsed(*resume_command, "--pid", "PID", "Of this process only", resume_pid, parse_pid);
  resume_command->footer(kResumeExamples);
  doctor_command = app.add_subcommand("doctor", "Say what works here, what does not, and the fix");
  add_parsed(*doctor_command, "--pid", "PID", "Try the ways to stop this process", doctor_pid,
             parse_pid);
  doctor_command->add_flag("--json", doctor_json, "Machine-readable");
  doctor_command->footer(kDoctorExamples);
  add_run();
  add_status();
  add_report();
  add_trace();
  add_demo();
  add_bench();
  version_command = app.add_subcommand("version", "Show the version");
  help_command = app.add_subcommand("help", "Show this, or the help of a command");
  help_command->add_option("command", help_about, "The command")->type_name("");
  app.footer(kExamples);  // last: subcommands would inherit it
}

void CommandLine::add_queues() {
  queues_command = app.add_subcommand("queues", "Show queues and whose they are");
  CLI::App& command = *queues_command;
  add_parsed(command, "--pid", "PID", "Of this process only", queues.filter.pid, parse_pid);
  add_parsed(command, "--class", "CLASS", "Of this class only: offline, normal, online",
             queues.filter.work_class, parse_class);
  command.add_option("--tag", queues.filter.tag, "Of processes with this AMD_QUEUE_TAG only")
      ->type_name("TAG");
  add_parsed(command, "--exists", "PID:QUEUE", "Say whether this queue exists: exit status 0 or 1",
             queues.exists, parse_pid_and_queue);
  command.add_flag("--watch", queues.watch, "Show queues as they come and go");
  command.add_flag("--json", queues.json, "Machine-readable; with --watch a line per event");
  add_parsed(command, "--sysfs", "DIR", "Read a saved copy of /sys/class/kfd/kfd, not this machine",
             queues.sysfs, parse_directory);
  add_parsed(command, "--debugfs", "DIR", "Read saved copies of mqds, hqds, rls in this folder",
             queues.debugfs, parse_directory);
  command.footer(kQueuesExamples);
}

void CommandLine::add_suspend() {
  suspend_command = app.add_subcommand("suspend", "Stop queues for a while, mid-kernel");
  CLI::App& command = *suspend_command;
  add_parsed(command, "--pid", "PID", "The process", suspend.pid, parse_pid)->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--queue",
          [this](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const Result<u32> id = parse_queue_id(word);
              if (!id) {
                throw CLI::ValidationError(
                    fmt::format("{} ({})", id.error().what, id.error().hint));
              }
              const auto& ids = suspend.queue_ids;
              if (std::find(ids.begin(), ids.end(), *id) != ids.end()) {
                throw CLI::ValidationError(fmt::format("queue {} is named twice", *id));
              }
              suspend.queue_ids.push_back(*id);
            }
          },
          "Only this queue; may be repeated (default: all)")
      ->type_name("QUEUE");
  add_parsed(command, "--for", "TIME", "How long at most: 5s, 200ms, 1min", suspend.lease.duration,
             parse_lease)
      ->required();
  add_parsed(command, "--mechanism", "NAME", "How (default: the best that works)",
             suspend.lease.mechanism, parse_mechanism);
  add_parsed(command, "--grace", "N",
             "Time for running waves to end by themselves, 1 to 255 x 1024 GPU clocks",
             suspend.lease.stop.grace_1k_clocks, parse_grace);
  command.footer(kSuspendExamples);
}

void CommandLine::add_run() {
  run_command = app.add_subcommand("run", "Start a program that gpreemptd schedules");
  CLI::App& command = *run_command;
  add_parsed(command, "--class", "CLASS", "offline, normal or online", run_options.work_class,
             parse_class)
      ->required();
  add_parsed(command, "--tag", "TAG", "A name to find its queues by", run_options.tag, parse_name);
  add_parsed(command, "--job", "JOB", "Programs of one job are stopped together", run_options.job,
             parse_name);
  add_parsed(command, "--priority", "N", "0 to 15, for the policy `priority`", run_options.priority,
             parse_priority);
  command.add_option("--socket", run_options.socket, "The daemon's socket")->type_name("PATH");
  command.formatter(std::make_shared<WithCommand>());
  command.footer(kRunExamples);
}

void CommandLine::add_status() {
  status_command = app.add_subcommand("status", "Show what gpreemptd knows and does");
  status_command->add_flag("--json", status_json, "Machine-readable");
  status_command->add_option("--socket", socket, "The daemon's socket")->type_name("PATH");
  status_command->footer(kStatusExamples);
  config_command = app.add_subcommand("config", "Check a configuration of gpreemptd");
  CLI::App* check =
      config_command->add_subcommand("check", "Say what is wrong, with line and column");
  check->add_option("file", config_path, "The file")->type_name("FILE")->capture_default_str();
  config_command->require_subcommand(1);
}

void CommandLine::add_demo() {
  demo_command = app.add_subcommand("demo", "Show on this machine, or without a GPU, what it does");
  CLI::App& command = *demo_command;
  command.add_option("--output", demo_options.output, "For results.json and report.html")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--json", demo_options.json, "The phases, machine-readable")
      ->type_name("FILE");
  add_parsed(command, "--duration", "TIME", "Of each phase (default: 15s)", demo_options.duration,
             parse_phase);
  command.add_flag("--virtual-gpu", demo_options.virtual_gpu, "Even if there is a GPU");
  command.add_option("--socket", demo_options.socket, "Of a daemon that runs already")
      ->type_name("PATH");
  command.footer(kDemoExamples);
}

void CommandLine::add_bench() {
  bench_command = app.add_subcommand("bench", "Measure this machine, scenario by scenario");
  CLI::App& command = *bench_command;
  command.add_option("scenario", bench_options.scenarios, "All if none is named")->type_name("");
  command.add_flag("--list", bench_options.list, "Name the scenarios");
  command.add_flag("--full", bench_options.full, "Their long forms: an hour and more in all");
  add_parsed(command, "--duration", "TIME", "Of each scenario's main part", bench_options.duration,
             parse_bench_duration);
  command.add_option("--output", bench_options.output, "For results.json and report.html")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--json", bench_options.json, "The criteria, machine-readable")
      ->type_name("FILE");
  command.add_flag("--virtual-gpu", bench_options.virtual_gpu, "Even if there is a GPU");
  command.footer(kBenchExamples);
}

void CommandLine::add_report() {
  report_command = app.add_subcommand("report", "Make a page of what was measured");
  report_command->add_option("directory", report_directory, "Where results.json is")
      ->type_name("DIR")
      ->required();
  report_command->add_option("--output", report_output, "The page (default: DIR/report.html)")
      ->type_name("FILE");
  report_command->footer(kReportExamples);
}

void CommandLine::add_trace() {
  trace_command = app.add_subcommand("trace", "Write down what gpreemptd did, for Perfetto");
  trace_command
      ->add_option("--output", trace_options.output,
                   "The file, - for standard output (default: gpreempt.pftrace)")
      ->type_name("FILE");
  trace_command->add_flag("--json", trace_options.json, "As JSON; by default on standard output");
  trace_command->add_option("--socket", trace_options.socket, "The daemon's socket")
      ->type_name("PATH");
  trace_command->footer(kTraceExamples);
}

int CommandLine::run() {
  if (!run_options.command.empty() && !*run_command) {
    return usage_error("only `run` takes a program behind --", "see gpreempt run --help");
  }
  if (show_version || *version_command) {
    return version();
  }
  if (*queues_command) {
    const bool saved = !queues.sysfs.empty() || !queues.debugfs.empty();
    if (saved + queues.watch + queues.exists.has_value() > 1) {
      return usage_error("--watch, --exists and a saved copy exclude each other",
                         "see gpreempt queues --help");
    }
    return cli::queues(queues);
  }
  if (*suspend_command) {
    return cli::suspend(suspend);
  }
  if (*resume_command) {
    return resume(resume_pid);
  }
  if (*doctor_command) {
    return doctor(doctor_pid, doctor_json);
  }
  if (*run_command) {
    if (run_options.command.empty()) {
      return usage_error(
          "no program is given",
          fmt::format("gpreempt run --class {} -- PROGRAM ...", name(run_options.work_class)));
    }
    return cli::run(std::move(run_options));
  }
  if (*demo_command) {
    return cli::demo(demo_options);
  }
  if (*bench_command) {
    return cli::bench(bench_options);
  }
  if (*status_command) {
    return scheduler_status(socket, status_json);
  }
  if (*config_command) {
    return check_config(config_path);
  }
  if (*report_command) {
    return report_page(report_directory, report_output);
  }
  if (*trace_command) {
    return trace(trace_options);
  }
  if (*help_command) {
    return show_help();
  }
  return status();
}

int CommandLine::show_help() const {
  if (help_about.empty()) {
    // Of a fresh one: where a command was given, CLI11 shows that command's help.
    std::fputs(CommandLine().app.help().c_str(), stdout);
    return exit_ok;
  }
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == help_about.front()) {
      std::fputs(command->help("gpreempt").c_str(), stdout);
      return exit_ok;
    }
  }
  return usage_error(fmt::format("unknown command '{}'", help_about.front()),
                     "see gpreempt --help");
}

// `first` is the first word of the command line.
int explain(const CLI::ParseError& error, const CommandLine& line, const std::string& first) {
  if (!line.app.get_subcommands().empty()) {
    return usage_error(error.what(), fmt::format("see gpreempt {} --help", first));
  }
  return usage_error(
      fmt::format("unknown {} '{}'", first.starts_with("-") ? "option" : "command", first),
      "see gpreempt --help");
}

int main(int argc, char** argv) {
  CommandLine line;
  // What follows "--" is the program of `run`: its options are not ours.
  char** const end = argv + argc;
  char** const separator =
      std::find_if(argv, end, [](const char* word) { return std::string_view(word) == "--"; });
  if (separator != end) {
    line.run_options.command.assign(separator + 1, end);
  }
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
