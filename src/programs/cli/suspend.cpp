// `gpreempt suspend` and `gpreempt resume`: a stop held by the command itself. However this process
// ends, the queues run again: the lease is its own.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/exit_code.h"
#include "base/text_table.h"
#include "cli/commands.h"
#include "cli/lease_files.h"
#include "cli/queue_view.h"
#include "cli/system.h"

namespace gp::cli {
namespace {

using Clock = std::chrono::steady_clock;
using mechanism::LeaseEnd;
using Seconds = std::chrono::duration<double>;

constexpr std::chrono::milliseconds kProgressStep{100};
constexpr std::size_t kLongestCommand = 40;  // in a line of text

const char* reason(LeaseEnd end) {
  switch (end) {
    case LeaseEnd::ended: return "ended early";
    case LeaseEnd::deadline: return "the time is over";
    case LeaseEnd::owner_died: return "the owner died";
    case LeaseEnd::target_gone: return "the process ended";
    case LeaseEnd::failed: return "the driver failed";
  }
  return "";
}

std::string queues_text(const mechanism::LeaseReport& report) {
  std::size_t count = 0;
  for (const mechanism::TargetReport& target : report.targets) {
    count += target.queues.size();
  }
  return fmt::format("{} queue{}", count, count == 1 ? "" : "s");
}

// "process 1234 (python train.py)"
std::string process_text(const discover::Snapshot& snapshot, pid_t pid) {
  const discover::Process* process = discover::find_process(snapshot, pid);
  return process != nullptr && !process->command.empty()
             ? fmt::format("process {} ({})", pid,
                           printable(shorten(short_command(process->command), kLongestCommand)))
             : fmt::format("process {}", pid);
}

// A line that counts down, on a terminal only.
class Progress {
 public:
  void show(Seconds left) {
    if (on_terminal_) {
      std::fprintf(stderr, "\r%.1f s left, Ctrl-C resumes now ", std::max(0.0, left.count()));
    }
  }
  void clear() {
    if (on_terminal_) {
      std::fputs("\r\033[K", stderr);
    }
  }

 private:
  const bool on_terminal_ = ::isatty(STDERR_FILENO) == 1;
};

// Waits until the lease has ended by itself, or a signal asks for its end.
Result<LeaseEnd> wait_for_end(mechanism::Controller& controller, mechanism::LeaseId lease,
                              Clock::time_point deadline, int signals) {
  Progress progress;
  for (;;) {
    progress.show(deadline - Clock::now());
    pollfd ready[] = {{controller.event_fd(), POLLIN, 0}, {signals, POLLIN, 0}};
    if (::poll(ready, 2, static_cast<int>(kProgressStep.count())) < 0 && errno != EINTR) {
      return Error{errno, "poll", ""};
    }
    for (const mechanism::LeaseEvent& event : controller.take_events()) {
      if (event.lease == lease) {
        progress.clear();
        return event.end;
      }
    }
    if (ready[1].revents != 0) {
      progress.clear();
      const Status started = controller.start(lease);
      if (started) {
        return LeaseEnd::ended;
      }
      if (started.error().code != ENOENT) {
        return started.error();
      }
      // Its deadline came first: the event is on its way.
    }
  }
}

// Ctrl-Z would leave the queues stopped and nobody to see it: their keeper ends that at the
// deadline, but whoever has none depends on us.
void stay_awake() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGTSTP, SIGTTIN, SIGTTOU}) {
    sigaddset(&signals, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

Result<ExitCode> hold(const SuspendOptions& options) {
  stay_awake();
  const UniqueFd signals = TRY(catch_end_signals());
  const auto target = TRY(discover::process_key(system_os(), {}, options.pid));
  const std::string who = process_text(TRY(live_snapshot({.debugfs = false})), options.pid);
  const auto controller = TRY(mechanism::Controller::create({.keeper = true}));
  const mechanism::Target targets[] = {{target, options.queue_ids}};
  TRY(controller->prepare(target, options.lease.mechanism));
  const Clock::time_point begin = Clock::now();
  mechanism::LeaseOptions lease = options.lease;
  lease.deadline = begin + options.duration;
  const auto stopped = TRY(controller->stop(targets, lease));
  const LeaseFile file = TRY(LeaseFile::create(target));
  std::printf("%s: %s stopped (%s, %.1f ms), for %.6g s\n", who.c_str(),
              queues_text(stopped).c_str(), info_of(stopped.targets[0].mechanism).name,
              static_cast<double>(stopped.times.driver_ns) / 1e6,
              Seconds(options.duration).count());
  std::fflush(stdout);
  const LeaseEnd end = TRY(wait_for_end(*controller, stopped.lease, lease.deadline, signals.get()));
  const double held = Seconds(Clock::now() - begin).count();
  if (end == LeaseEnd::target_gone) {
    std::printf("%s has ended, after %.1f s\n", who.c_str(), held);
    return exit_failed;
  }
  if (end == LeaseEnd::failed) {
    return Error{EIO, fmt::format("restart the queues of {}", who), "see the kernel log (dmesg)"};
  }
  std::printf("%s: running again after %.1f s: %s\n", who.c_str(), held, reason(end));
  return exit_ok;
}

Result<ExitCode> end_holders(std::optional<pid_t> pid) {
  bool any = false;
  for (const Holder& holder : TRY(lease_holders())) {
    if (!pid || holder.target.pid == *pid) {
      TRY(end_holder(holder));
      std::printf("process %d: running again; gpreempt suspend, process %d, has ended\n",
                  holder.target.pid, holder.process.pid);
      any = true;
    }
  }
  if (!any) {
    std::fprintf(stderr,
                 "gpreempt: no gpreempt suspend of this user holds %s\n"
                 "hint: what another user or program has stopped, that program restarts\n",
                 pid ? fmt::format("process {}", *pid).c_str() : "anything");
    return exit_failed;
  }
  return exit_ok;
}

}  // namespace

int suspend(const SuspendOptions& options) {
  const Result<ExitCode> result = hold(options);
  return result ? *result : report_error(result.error());
}

int resume(std::optional<pid_t> pid) {
  const Result<ExitCode> result = end_holders(pid);
  return result ? *result : report_error(result.error());
}

}  // namespace gp::cli
