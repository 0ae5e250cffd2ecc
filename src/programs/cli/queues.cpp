// `gpreempt queues`: which queues there are and whose they are.
#include <poll.h>

#include <cerrno>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "cli/agent_finding.h"
#include "cli/commands.h"
#include "cli/json_output.h"
#include "cli/queue_view.h"
#include "cli/scheduler_view.h"
#include "cli/system.h"

namespace gp::cli {
namespace {

using discover::Process;
using discover::QueueEvent;
using discover::Snapshot;

// A saved copy is read alone: nothing of the running system is mixed in.
Result<Snapshot> snapshot_of(const QueuesOptions& options) {
  if (options.sysfs.empty() && options.debugfs.empty()) {
    return live_snapshot({});
  }
  discover::Paths saved;
  saved.sysfs = options.sysfs;
  saved.debugfs = options.debugfs;
  saved.proc = "";
  saved.live = false;
  const auto classes = TRY(discover::class_config_from_environment());
  Result<Snapshot> snapshot = discover::take_snapshot(system_os(), saved, classes, {});
  if (!snapshot && snapshot.error().code == ENOENT) {
    return Error{ENOENT, "nothing of KFD in the saved copy",
                 "--sysfs: a copy of /sys/class/kfd/kfd; --debugfs: a folder with mqds, hqds, rls"};
  }
  return snapshot;
}

// What the daemon, if one answers, knows of online work: only it has heard of the agents.
std::string unseen_work(const QueuesOptions& options, const Snapshot& snapshot) {
  const bool is_saved = !options.sysfs.empty() || !options.debugfs.empty();
  return is_saved || snapshot.processes.empty() ? "" : unseen_lines(ask_daemon());
}

Status show(const QueuesOptions& options) {
  const Snapshot snapshot = TRY(snapshot_of(options));
  if (options.json) {
    print_json(queue_json(snapshot, options.filter));
    return ok();
  }
  std::fputs(queue_tables(snapshot, options.filter).c_str(), stdout);
  std::fputs(unseen_work(options, snapshot).c_str(), stdout);
  for (const std::string& warning : snapshot.warnings) {
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  }
  return ok();
}

// 0 if the queue is there, 1 if not: for scripts.
Result<ExitCode> look_for(pid_t pid, u32 queue_id) {
  const Snapshot snapshot = TRY(live_snapshot({.debugfs = false}));
  discover::Filter filter;
  filter.pid = pid;
  for (const discover::Found& found : discover::find(snapshot, filter)) {
    if (found.queue->queue_id == queue_id) {
      std::printf("process %d has queue %u\n", pid, queue_id);
      return exit_ok;
    }
  }
  std::printf("process %d has no queue %u\n", pid, queue_id);
  return exit_failed;
}

// Prints events; remembers processes, so that the last words of one that has gone still name it.
class EventPrinter {
 public:
  explicit EventPrinter(const QueuesOptions& options) : options_(options) {
    if (!options_.json) {
      std::printf("%s\n", event_header().c_str());
    }
  }

  Status print(const std::vector<QueueEvent>& events) {
    TRY(learn(events));
    for (const QueueEvent& event : events) {
      const auto known = processes_.find(event.key.process);
      const Process* process = known != processes_.end() ? &known->second : nullptr;
      if (!wanted(event, process)) {
        continue;
      }
      if (options_.json) {
        print_json(event_json(event, process), -1);
      } else {
        std::printf("%s\n", event_line(event, process).c_str());
      }
    }
    std::fflush(stdout);
    return ok();
  }

 private:
  Status learn(const std::vector<QueueEvent>& events) {
    bool all_known = true;
    for (const QueueEvent& event : events) {
      all_known &= !event.appeared || processes_.contains(event.key.process);
    }
    if (all_known) {
      return ok();
    }
    Snapshot now = TRY(live_snapshot({.debugfs = false}));
    for (Process& process : now.processes) {
      processes_.insert_or_assign(process.key, std::move(process));
    }
    return ok();
  }

  bool wanted(const QueueEvent& event, const Process* process) const {
    const discover::Filter& filter = options_.filter;
    return (!filter.pid || *filter.pid == event.key.process.pid) &&
           (!filter.work_class ||
            (process != nullptr && process->work_class == *filter.work_class)) &&
           (filter.tag.empty() || (process != nullptr && process->tag == filter.tag));
  }

  const QueuesOptions& options_;
  std::map<ProcessKey, Process> processes_;
};

Status watch(const QueuesOptions& options) {
  const UniqueFd signals = TRY(catch_end_signals());
  TRY(live_snapshot({.debugfs = false}));  // on a machine without the driver there is no waiting
  const auto source = TRY(discover::Watch::create(system_os(), {}));
  EventPrinter printer(options);
  for (;;) {
    TRY(printer.print(TRY(source->take_events())));
    pollfd ready[] = {{source->fd(), POLLIN, 0}, {signals.get(), POLLIN, 0}};
    if (::poll(ready, 2, -1) < 0 && errno != EINTR) {
      return Error{errno, "poll", ""};
    }
    if (ready[1].revents != 0) {
      return ok();
    }
  }
}

}  // namespace

int queues(const QueuesOptions& options) {
  if (options.exists) {
    const Result<ExitCode> found = look_for(options.exists->first, options.exists->second);
    return found ? *found : report_error(found.error());
  }
  const Status status = options.watch ? watch(options) : show(options);
  return status ? exit_ok : report_error(status.error());
}

}  // namespace gp::cli
