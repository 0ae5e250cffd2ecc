// Stopping, starting and extending; lease_keeper.cpp has what happens by itself.
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
namespace {

u64 nanoseconds(Clock::time_point time) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

Status check_each_once(std::span<const Target> targets) {
  for (std::size_t i = 0; i < targets.size(); i++) {
    for (std::size_t j = 0; j < i; j++) {
      if (targets[i].process.pid == targets[j].process.pid) {
        return Error{EINVAL, fmt::format("pid {} is named twice", targets[i].process.pid),
                     "name all its queues in one target"};
      }
    }
  }
  return ok();
}

}  // namespace

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

Result<std::vector<Held>> LeasingController::reserve(LeaseId lease,
                                                     std::span<const Target> targets) {
  std::vector<Held> held;
  for (const Target& target : targets) {
    Status status = check_queue_ids(target.process.pid, target.queue_ids);
    if (status) {
      auto job = find_job(target.process);
      if (job) {
        const std::lock_guard lock(mutex_);
        status = (*job)->reserve(lease, target.queue_ids);
        held.push_back({*job, target.queue_ids, UniqueFd()});
      } else {
        status = std::move(job.error());
      }
    }
    if (!status) {
      release(lease, held);
      return std::move(status.error());
    }
  }
  return held;
}

void LeasingController::release(LeaseId lease, std::span<const Held> held) {
  const std::lock_guard lock(mutex_);
  for (const Held& each : held) {
    each.job->release(lease);
  }
}

Status LeasingController::stop_targets(std::span<const Target> targets, const LeaseOptions& options,
                                       std::vector<Held>& held, LeaseReport& report) {
  for (std::size_t i = 0; i < targets.size(); i++) {
    bool others = false;
    {
      // Besides this lease: may the job change its mechanism?
      const std::lock_guard lock(mutex_);
      others = held[i].job->is_held_besides(report.lease);
    }
    DriverCall call;
    auto stopped = held[i].job->stop(targets[i], options, others, call);
    if (!stopped) {
      for (std::size_t j = 0; j < i; j++) {
        if (const Status undone = held[j].job->start(held[j].queue_ids); !undone) {
          log_warning("{}", undone.error().message());
        }
      }
      return std::move(stopped.error());
    }
    held[i].gone = held[i].job->watch_end();
    report.times.driver_ns += call.exit_ns - call.entry_ns;
    if (i == 0) {
      report.times.before_ns = call.entry_ns;  // made relative by the caller
    }
    report.targets.push_back(std::move(*stopped));
  }
  return ok();
}

Result<LeaseReport> LeasingController::stop(std::span<const Target> targets,
                                            const LeaseOptions& options) {
  const auto called = Clock::now();
  if (targets.empty()) {
    return Error{EINVAL, "a lease needs at least one process", ""};
  }
  if (options.duration <= options.duration.zero() || options.duration > kLongestLease) {
    return Error{
        EINVAL,
        fmt::format(
            "a lease cannot last {} ms",
            std::chrono::duration_cast<std::chrono::milliseconds>(options.duration).count()),
        "more than 0, at most 24 hours"};
  }
  TRY(driver_grace(options.stop));
  TRY(check_each_once(targets));
  Lease lease;
  lease.deadline = called + options.duration;
  if (options.owner != 0 && options.owner != ::getpid()) {
    lease.owner = TRY(open_target({options.owner, 0}));
  }
  LeaseReport report;
  {
    const std::lock_guard lock(mutex_);
    report.lease = lease.id = ++last_lease_;
  }
  lease.held = TRY(reserve(lease.id, targets));
  if (Status stopped = stop_targets(targets, options, lease.held, report); !stopped) {
    release(lease.id, lease.held);
    return std::move(stopped.error());
  }
  {
    const std::lock_guard lock(mutex_);
    // Waking a thread takes longer than all the rest here: only if it would sleep too long, or has
    // something new to watch.
    const bool watches =
        lease.owner || std::any_of(lease.held.begin(), lease.held.end(),
                                   [](const Held& held) { return static_cast<bool>(held.gone); });
    if (watches || lease.deadline < keeper_sleeps_until_) {
      wake(wake_event_);
    }
    leases_.emplace(lease.id, std::move(lease));
  }
  CallTimes& times = report.times;
  times.before_ns -= std::min(times.before_ns, nanoseconds(called));
  const u64 total = nanoseconds(Clock::now()) - nanoseconds(called);
  times.after_ns = total - std::min(total, times.before_ns + times.driver_ns);
  return report;
}

Status LeasingController::start(LeaseId id) {
  std::unique_lock lock(mutex_);
  auto node = leases_.extract(id);
  lock.unlock();
  if (node.empty()) {
    return Error{ENOENT, fmt::format("there is no lease {}", id), "it may have ended by itself"};
  }
  return end(node.mapped());
}

Status LeasingController::end(Lease& lease) {
  Status first = ok();
  for (const Held& held : lease.held) {
    Status started = held.job->start(held.queue_ids);
    if (!started && first) {
      first = std::move(started);
    }
  }
  release(lease.id, lease.held);
  return first;
}

Status LeasingController::extend(LeaseId id, std::chrono::nanoseconds duration) {
  if (duration <= duration.zero() || duration > kLongestLease) {
    return Error{EINVAL, "a lease lasts more than 0 and at most 24 hours", ""};
  }
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) {
      return Error{ENOENT, fmt::format("there is no lease {}", id), "it may have ended by itself"};
    }
    found->second.deadline = Clock::now() + duration;
  }
  wake(wake_event_);
  return ok();
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
  return std::unique_ptr<Controller>(
      std::make_unique<LeasingController>(options, std::move(wake_event), std::move(user_event)));
}

}  // namespace gp::mechanism
