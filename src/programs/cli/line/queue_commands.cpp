// queues, suspend, resume, doctor: queues by hand.
#include <sys/stat.h>

#include <algorithm>
#include <memory>

#include "base/exit_code.h"
#include "base/units.h"
#include "cli/commands.h"
#include "cli/line/line.h"
#include "cli/line/option.h"

namespace gp::cli {
namespace {

constexpr u64 kLongestLeaseNs = std::chrono::nanoseconds(mechanism::kLongestLease).count();
constexpr u32 kHighestQueueId = 1023;  // KFD has 1024 ids per process

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
  gpreempt doctor --pid 1234                also: which mechanisms work on this process
  gpreempt doctor --json

With --pid each mechanism is tried on the process: its queues are taken off the GPU for a moment.)";

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

Result<std::chrono::nanoseconds> parse_lease(const std::string& text) {
  const u64 nanoseconds = TRY(parse_duration_ns(text));
  if (nanoseconds == 0 || nanoseconds > kLongestLeaseNs) {
    return Error{EINVAL, fmt::format("'{}' is not a time to stop for", text),
                 "more than 0, at most 24 hours"};
  }
  return std::chrono::nanoseconds(nanoseconds);
}

Result<Mechanism> parse_mechanism(const std::string& text) {
  if (const MechanismInfo* info = find_mechanism(text)) {
    return info->mechanism;
  }
  std::string names;
  for (const MechanismInfo& info : kMechanisms) {
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

void add_queues(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<QueuesOptions>();
  CLI::App& command = *app.add_subcommand("queues", "Show queues and whose they are");
  add_parsed(command, "--pid", "PID", "Of this process only", options->filter.pid, parse_pid);
  add_parsed(command, "--class", "CLASS", "Of this class only: offline, normal, online",
             options->filter.work_class, parse_class);
  command.add_option("--tag", options->filter.tag, "Of processes with this AMD_QUEUE_TAG only")
      ->type_name("TAG");
  add_parsed(command, "--exists", "PID:QUEUE", "Say whether this queue exists: exit status 0 or 1",
             options->exists, parse_pid_and_queue);
  command.add_flag("--watch", options->watch, "Show queues as they come and go");
  command.add_flag("--json", options->json, "Machine-readable; with --watch a line per event");
  add_parsed(command, "--sysfs", "DIR", "Read a saved copy of /sys/class/kfd/kfd, not this machine",
             options->sysfs, parse_directory);
  add_parsed(command, "--debugfs", "DIR", "Read saved copies of mqds, hqds, rls in this folder",
             options->debugfs, parse_directory);
  command.footer(kQueuesExamples);
  command.callback([options, &chosen] {
    chosen = [options] {
      const bool saved = !options->sysfs.empty() || !options->debugfs.empty();
      if (saved + options->watch + options->exists.has_value() > 1) {
        return report_usage("--watch, --exists and a saved copy exclude each other",
                            "see gpreempt queues --help");
      }
      return queues(*options);
    };
  });
}

void add_suspend(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<SuspendOptions>();
  CLI::App& command = *app.add_subcommand("suspend", "Stop queues for a while, mid-kernel");
  add_parsed(command, "--pid", "PID", "The process", options->pid, parse_pid)->required();
  command
      .add_option_function<std::vector<std::string>>(
          "--queue",
          [options](const std::vector<std::string>& words) {
            for (const std::string& word : words) {
              const Result<u32> id = parse_queue_id(word);
              if (!id) {
                throw CLI::ValidationError(
                    fmt::format("{} ({})", id.error().what, id.error().hint));
              }
              const auto& ids = options->queue_ids;
              if (std::find(ids.begin(), ids.end(), *id) != ids.end()) {
                throw CLI::ValidationError(fmt::format("queue {} is named twice", *id));
              }
              options->queue_ids.push_back(*id);
            }
          },
          "Only this queue; may be repeated (default: all)")
      ->type_name("QUEUE");
  add_parsed(command, "--for", "TIME", "How long at most: 5s, 200ms, 1min", options->duration,
             parse_lease)
      ->required();
  add_parsed(command, "--mechanism", "NAME", "How (default: the best that works)",
             options->lease.mechanism, parse_mechanism);
  add_parsed(command, "--grace", "N",
             "Time for running waves to end by themselves, 1 to 255 x 1024 GPU clocks",
             options->lease.stop.grace_1k_clocks, parse_grace);
  command.footer(kSuspendExamples);
  command.callback([options, &chosen] { chosen = [options] { return suspend(*options); }; });
}

void add_resume(CLI::App& app, Chosen& chosen) {
  const auto pid = std::make_shared<std::optional<pid_t>>();
  CLI::App& command = *app.add_subcommand("resume", "End what `gpreempt suspend` holds");
  add_parsed(command, "--pid", "PID", "Of this process only", *pid, parse_pid);
  command.footer(kResumeExamples);
  command.callback([pid, &chosen] { chosen = [pid] { return resume(*pid); }; });
}

void add_doctor(CLI::App& app, Chosen& chosen) {
  struct Options {
    std::optional<pid_t> pid;
    bool json = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      *app.add_subcommand("doctor", "Say what works here, what does not, and the fix");
  add_parsed(command, "--pid", "PID", "Try the mechanisms on this process", options->pid,
             parse_pid);
  command.add_flag("--json", options->json, "Machine-readable");
  command.footer(kDoctorExamples);
  command.callback(
      [options, &chosen] { chosen = [options] { return doctor(options->pid, options->json); }; });
}

}  // namespace

void add_queue_commands(CLI::App& app, Chosen& chosen) {
  add_queues(app, chosen);
  add_suspend(app, chosen);
  add_resume(app, chosen);
  add_doctor(app, chosen);
}

}  // namespace gp::cli
