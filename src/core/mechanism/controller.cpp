// Jobs, deadlines and events; lease_stops.cpp has stopping and starting, lease_keeper.cpp what
// happens by itself.
#include "mechanism/controller.h"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "mechanism/job.h"
#include "mechanism/leasing_controller.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {

LeasingController::~LeasingController() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake(wake_event_);
  keeper_.join();
  for (auto& [id, lease] : leases_) {
    if (const Status ended = end(lease); !ended) {
      log_warning("lease {}: {}", id, ended.error().message());
    }
  }
}

// The usual case, a process that is known, must be fast: no file is read.
Result<JobPtr> LeasingController::find_job(const discover::ProcessKey& process) {
  if (process.start_time != 0) {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(process);
    if (found != jobs_.end() && !found->second->has_ended()) {
      return found->second;
    }
  }
  UniqueFd pidfd = TRY(open_target(process));
  const discover::ProcessKey key{process.pid, TRY(process_state(process.pid)).start_time};
  const std::lock_guard lock(mutex_);
  std::erase_if(jobs_, [](const auto& entry) { return entry.second->has_ended(); });
  JobPtr& job = jobs_[key];
  if (!job) {
    job = std::make_shared<Job>(key, std::move(pidfd), options_);
  }
  return job;
}

Status LeasingController::prepare(const discover::ProcessKey& process,
                                  std::optional<Id> mechanism) {
  const JobPtr job = TRY(find_job(process));
  bool held = false;
  {
    const std::lock_guard lock(mutex_);
    held = job->is_held();
  }
  return job->attach(mechanism, held);
}

Result<std::vector<KnownQueue>> LeasingController::queues(const discover::ProcessKey& process) {
  TRY(prepare(process, std::nullopt));
  return TRY(find_job(process))->queues();
}

Status LeasingController::let_go(const discover::ProcessKey& process) {
  JobPtr job;
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(process);
    if (found == jobs_.end()) {
      return ok();
    }
    if (found->second->is_held()) {
      return Error{EBUSY, fmt::format("process {} is held by a lease", process.pid), ""};
    }
    job = found->second;
  }
  return job->detach();
}

Status LeasingController::extend(LeaseId id, std::chrono::nanoseconds duration) {
  if (duration <= duration.zero() || duration > kLongestLease) {
    return Error{EINVAL, "a lease lasts more than 0 and at most 24 hours", ""};
  }
  Clock::time_point latest;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) {
      return Error{ENOENT, fmt::format("there is no lease {}", id), "it may have ended by itself"};
    }
    found->second.deadline = Clock::now() + duration;
    latest = latest_deadline();
  }
  wake(wake_event_);
  return set_driver_deadline(latest);
}

Clock::time_point LeasingController::latest_deadline() const {
  auto latest = Clock::time_point::min();
  for (const auto& [id, lease] : leases_) {
    latest = std::max(latest, lease.deadline);
  }
  return latest;
}

std::vector<LeaseEvent> LeasingController::take_events() {
  const std::lock_guard lock(mutex_);
  drain(user_event_);
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
  UniqueFd wake_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  UniqueFd user_event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_event || !user_event) {
    return Error{errno, "cannot make an eventfd", ""};
  }
  AttachOptions shared = options;
  if (!shared.kernel_session) {
    shared.kernel_session = make_kernel_session(options);
  }
  return std::unique_ptr<Controller>(
      std::make_unique<LeasingController>(shared, std::move(wake_event), std::move(user_event)));
}

}  // namespace gp::mechanism
