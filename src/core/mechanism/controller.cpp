// Jobs, deadlines and events; lease_stops.cpp has stopping and starting, lease_keeper.cpp what
// happens by itself.
#include "mechanism/controller.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "libc/eventfd.h"
#include "mechanism/controlled_process.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {

Status check_deadline(Clock::time_point deadline) {
  if (deadline == Clock::time_point{}) {
    return Error{EINVAL, "a lease needs a deadline", ""};
  }
  if (deadline - Clock::now() > kLongestLease) {
    return Error{EINVAL, "a lease cannot last that long", "at most 24 hours"};
  }
  return ok();
}

Controller::Controller(const AttachOptions& options, UniqueFd wake_event, UniqueFd user_event)
    : options_(options),
      wake_event_(std::move(wake_event)),
      user_event_(std::move(user_event)),
      keeper_([this] { keep_leases(); }) {}

Controller::~Controller() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  signal_event(wake_event_.get());
  keeper_.join();
  for (auto& [id, lease] : leases_) {
    if (const Status ended = end(lease); !ended) {
      log_warning("lease {}: {}", id, ended.error().message());
    }
  }
}

// The usual case, a process that is known, must be fast: no file is read.
Result<Controller::ProcessPtr> Controller::find_process(const ProcessKey& process) {
  if (process.start_time != 0) {
    const std::lock_guard lock(mutex_);
    const auto found = processes_.find(process);
    if (found != processes_.end() && !found->second->has_ended()) {
      return found->second;
    }
  }
  UniqueFd pidfd = TRY(open_target(process));
  const ProcessKey key{process.pid, TRY(process_state(process.pid)).start_time};
  const std::lock_guard lock(mutex_);
  std::erase_if(processes_, [](const auto& entry) { return entry.second->has_ended(); });
  ProcessPtr& controlled = processes_[key];
  if (!controlled) {
    controlled = std::make_shared<ControlledProcess>(key, std::move(pidfd), options_);
  }
  return controlled;
}

Status Controller::prepare(const ProcessKey& process, std::optional<Mechanism> mechanism) {
  const ProcessPtr controlled = TRY(find_process(process));
  bool held = false;
  {
    const std::lock_guard lock(mutex_);
    held = controlled->is_held();
  }
  return controlled->attach(mechanism, held);
}

Result<std::vector<KnownQueue>> Controller::queues(const ProcessKey& process) {
  TRY(prepare(process, std::nullopt));
  return TRY(find_process(process))->queues();
}

Status Controller::let_go(const ProcessKey& process) {
  ProcessPtr controlled;
  {
    const std::lock_guard lock(mutex_);
    const auto found = processes_.find(process);
    if (found == processes_.end()) {
      return ok();
    }
    if (found->second->is_held()) {
      return Error{EBUSY, fmt::format("process {} is held by a lease", process.pid), ""};
    }
    controlled = found->second;
  }
  return controlled->detach();
}

Status Controller::extend(LeaseId id, Clock::time_point deadline) {
  TRY(check_deadline(deadline));
  const Error no_lease{ENOENT, fmt::format("there is no lease {}", id),
                       "it may have ended by itself"};
  Clock::time_point latest;
  std::vector<ProcessPtr> processes;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) {
      return no_lease;
    }
    found->second.deadline = deadline;
    latest = latest_deadline();
    for (const Held& held : found->second.held) {
      processes.push_back(held.process);
    }
  }
  signal_event(wake_event_.get());
  for (const ProcessPtr& process : processes) {
    if (!process->set_deadline(latest)) {
      end_by_itself(id, LeaseEnd::deadline);  // a keeper has waited long enough for us
      return no_lease;
    }
  }
  return set_driver_deadline(latest);
}

Clock::time_point Controller::latest_deadline() const {
  auto latest = Clock::time_point::min();
  for (const auto& [id, lease] : leases_) {
    latest = std::max(latest, lease.deadline);
  }
  return latest;
}

std::vector<LeaseEvent> Controller::take_events() {
  const std::lock_guard lock(mutex_);
  clear_event(user_event_.get());
  return std::exchange(events_, {});
}

const char* name(LeaseEnd end) {
  switch (end) {
    case LeaseEnd::ended: return "ended";
    case LeaseEnd::deadline: return "deadline";
    case LeaseEnd::owner_died: return "owner_died";
    case LeaseEnd::target_gone: return "target_gone";
    case LeaseEnd::failed: return "failed";
  }
  return "unknown";
}

Result<std::unique_ptr<Controller>> Controller::create(const AttachOptions& options) {
  UniqueFd wake_event(make_event());
  UniqueFd user_event(make_event());
  if (!wake_event || !user_event) {
    return Error{errno, "cannot make an eventfd", ""};
  }
  AttachOptions shared = options;
  if (!shared.kernel_session) {
    shared.kernel_session = make_kernel_session(options);
  }
  return std::unique_ptr<Controller>(
      new Controller(shared, std::move(wake_event), std::move(user_event)));
}

}  // namespace gp::mechanism
