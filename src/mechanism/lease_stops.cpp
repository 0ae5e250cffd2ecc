// Leases begin and end: reserved first, then stopped with as few driver calls as can be.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "mechanism/kernel_session.h"
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

Status check(std::span<const Target> targets, const LeaseOptions& options) {
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
  return check_each_once(targets);
}

// Our own time apart from the driver's. Jobs that were stopped by one call have the same call.
CallTimes times_of(std::span<const JobStop> stops, Clock::time_point called) {
  CallTimes times;
  u64 counted_entry_ns = 0;
  for (const JobStop& stop : stops) {
    if (stop.call.entry_ns != counted_entry_ns) {
      counted_entry_ns = stop.call.entry_ns;
      times.driver_ns += stop.call.exit_ns - stop.call.entry_ns;
    }
  }
  const u64 first = stops.front().call.entry_ns, begin = nanoseconds(called);
  times.before_ns = first - std::min(first, begin);
  const u64 total = nanoseconds(Clock::now()) - begin;
  times.after_ns = total - std::min(total, times.before_ns + times.driver_ns);
  return times;
}

std::vector<JobStop> stops_of(const Lease& lease) {
  std::vector<JobStop> stops;
  for (const Held& held : lease.held) {
    stops.push_back({held.job, held.queue_ids, false, TargetReport{}, {}, ok()});
  }
  return stops;
}

Error no_such_lease(LeaseId id) {
  return Error{ENOENT, fmt::format("there is no lease {}", id), "it may have ended by itself"};
}

Status first_failure(std::span<const JobStop> stops) {
  for (const JobStop& stop : stops) {
    if (!stop.started) {
      return stop.started;
    }
  }
  return ok();
}

}  // namespace

Result<Lease> LeasingController::new_lease(Clock::time_point called, const LeaseOptions& options) {
  Lease lease;
  lease.deadline = called + options.duration;
  if (options.owner != 0 && options.owner != ::getpid()) {
    lease.owner = TRY(open_target({options.owner, 0}));
  }
  const std::lock_guard lock(mutex_);
  lease.id = ++last_lease_;
  return lease;
}

Result<JobStop> LeasingController::reserve(LeaseId lease, const Target& target) {
  TRY(check_queue_ids(target.process.pid, target.queue_ids));
  JobPtr job = TRY(find_job(target.process));
  const std::lock_guard lock(mutex_);
  TRY(job->reserve(lease, target.queue_ids));
  const bool others = job->is_held_besides(lease);  // then it cannot change its mechanism
  return JobStop{std::move(job), target.queue_ids, others, TargetReport{}, {}, ok()};
}

void LeasingController::release(LeaseId lease, std::span<const JobStop> stops) {
  const std::lock_guard lock(mutex_);
  for (const JobStop& stop : stops) {
    stop.job->release(lease);
  }
}

LeaseOptions LeasingController::with_deadline(const LeaseOptions& options,
                                              Clock::time_point deadline) {
  LeaseOptions result = options;
  const std::lock_guard lock(mutex_);
  result.stop.deadline = std::max(deadline, latest_deadline());
  return result;
}

Status LeasingController::set_driver_deadline(Clock::time_point latest) {
  return options_.kernel_session->set_deadline(latest);
}

Result<LeaseReport> LeasingController::stop(std::span<const Target> targets,
                                            const LeaseOptions& options) {
  const auto called = Clock::now();
  TRY(check(targets, options));
  Lease lease = TRY(new_lease(called, options));
  std::vector<JobStop> stops;
  for (const Target& target : targets) {
    auto reserved = reserve(lease.id, target);
    if (!reserved) {
      release(lease.id, stops);
      return std::move(reserved.error());
    }
    stops.push_back(std::move(*reserved));
  }
  Job::stop_together(stops, with_deadline(options, lease.deadline));
  return conclude(std::move(lease), stops, called);
}

std::vector<Result<LeaseReport>> LeasingController::stop_each(std::span<const Target> targets,
                                                              const LeaseOptions& options) {
  const auto called = Clock::now();
  std::vector<Result<LeaseReport>> results;
  std::vector<Lease> leases;
  std::vector<JobStop> stops;
  std::vector<std::size_t> places;
  const Status checked = check(targets, options);
  for (const Target& target : targets) {
    Result<Lease> lease = checked ? new_lease(called, options) : Result<Lease>(checked.error());
    Result<JobStop> stop = lease ? reserve(lease->id, target) : Result<JobStop>(lease.error());
    if (!stop) {
      results.emplace_back(std::move(stop.error()));
      continue;
    }
    places.push_back(results.size());
    results.emplace_back(LeaseReport{});
    leases.push_back(std::move(*lease));
    stops.push_back(std::move(*stop));
  }
  if (!stops.empty()) {
    Job::stop_together(stops, with_deadline(options, leases.front().deadline));
  }
  for (std::size_t i = 0; i < stops.size(); i++) {
    results[places[i]] = conclude(std::move(leases[i]), {&stops[i], 1}, called);
  }
  return results;
}

Result<LeaseReport> LeasingController::conclude(Lease lease, std::span<JobStop> stops,
                                                Clock::time_point called) {
  const auto failed =
      std::find_if(stops.begin(), stops.end(), [](const JobStop& stop) { return !stop.report; });
  if (failed != stops.end()) {
    std::vector<JobStop> undone;
    std::copy_if(stops.begin(), stops.end(), std::back_inserter(undone),
                 [](const JobStop& stop) { return static_cast<bool>(stop.report); });
    Job::start_together(undone);
    if (const Status started = first_failure(undone); !started) {
      log_warning("{}", started.error().message());
    }
    release(lease.id, stops);
    return std::move(failed->report.error());
  }
  LeaseReport report{lease.id, {}, times_of(stops, called)};
  for (JobStop& stop : stops) {
    report.targets.push_back(std::move(*stop.report));
    lease.held.push_back({stop.job, stop.queue_ids, stop.job->watch_end()});
  }
  enter(std::move(lease));
  return report;
}

void LeasingController::enter(Lease lease) {
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

Status LeasingController::start(LeaseId id) { return std::move(start_each({&id, 1}).front()); }

std::vector<Status> LeasingController::start_each(std::span<const LeaseId> ids) {
  std::vector<Status> results;
  std::vector<Lease> leases;
  std::vector<JobStop> stops;
  std::vector<std::size_t> places;  // of the results, one for each stop
  for (const LeaseId id : ids) {
    std::unique_lock lock(mutex_);
    auto node = leases_.extract(id);
    lock.unlock();
    results.push_back(node.empty() ? Status(no_such_lease(id)) : ok());
    if (!node.empty()) {
      for (JobStop& stop : stops_of(node.mapped())) {
        stops.push_back(std::move(stop));
        places.push_back(results.size() - 1);
      }
      leases.push_back(std::move(node.mapped()));
    }
  }
  Job::start_together(stops);
  for (std::size_t i = 0; i < stops.size(); i++) {
    if (!stops[i].started && results[places[i]]) {
      results[places[i]] = std::move(stops[i].started);
    }
  }
  for (const Lease& lease : leases) {
    release(lease.id, stops_of(lease));
  }
  return results;
}

Status LeasingController::end(Lease& lease) {
  std::vector<JobStop> stops = stops_of(lease);
  Job::start_together(stops);
  release(lease.id, stops);
  return first_failure(stops);
}

}  // namespace gp::mechanism
