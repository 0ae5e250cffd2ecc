// Leases begin and end: reserved first, then stopped with as few driver calls as can be.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "libc/eventfd.h"
#include "mechanism/controlled_process.h"
#include "mechanism/controller.h"
#include "mechanism/kernel_session.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

constexpr std::chrono::milliseconds kMoment{100};

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
  TRY(check_deadline(options.deadline));
  TRY(driver_grace(options.stop));
  return check_each_once(targets);
}

// Our own time apart from the driver's. Jobs that were stopped by one call have the same call.
CallTimes times_of(std::span<const ProcessStop> stops, Clock::time_point called) {
  CallTimes times;
  u64 counted_entry_ns = 0;
  for (const ProcessStop& stop : stops) {
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

Error no_such_lease(LeaseId id) {
  return Error{ENOENT, fmt::format("there is no lease {}", id), "it may have ended by itself"};
}

Status first_failure(std::span<const ProcessStop> stops) {
  for (const ProcessStop& stop : stops) {
    if (!stop.started) {
      return stop.started;
    }
  }
  return ok();
}

}  // namespace

std::vector<ProcessStop> Controller::stops_of(const Lease& lease) {
  std::vector<ProcessStop> stops;
  for (const Held& held : lease.held) {
    stops.push_back({held.process, held.queue_ids, false, TargetReport{}, {}, ok()});
  }
  return stops;
}

Result<Controller::Lease> Controller::new_lease(const LeaseOptions& options) {
  Lease lease;
  lease.deadline = options.deadline;
  if (options.owner != 0 && options.owner != ::getpid()) {
    lease.owner = TRY(open_target({options.owner, 0}));
  }
  const std::lock_guard lock(mutex_);
  lease.id = ++last_lease_;
  return lease;
}

Result<ProcessStop> Controller::reserve(LeaseId lease, const Target& target) {
  TRY(check_queue_ids(target.process.pid, target.queue_ids));
  ProcessPtr controlled = TRY(find_process(target.process));
  const std::lock_guard lock(mutex_);
  TRY(controlled->reserve(lease, target.queue_ids));
  const bool others = controlled->is_held_besides(lease);  // then it cannot change its mechanism
  return ProcessStop{std::move(controlled), target.queue_ids, others, TargetReport{}, {}, ok()};
}

void Controller::release(LeaseId lease, std::span<const ProcessStop> stops) {
  const std::lock_guard lock(mutex_);
  for (const ProcessStop& stop : stops) {
    stop.process->release(lease);
  }
}

LeaseOptions Controller::with_driver_deadline(const LeaseOptions& options) {
  LeaseOptions result = options;
  const std::lock_guard lock(mutex_);
  result.stop.deadline = std::max(options.deadline, latest_deadline());
  return result;
}

Status Controller::set_driver_deadline(Clock::time_point latest) {
  return options_.kernel_session->set_deadline(latest);
}

Result<LeaseReport> Controller::stop(std::span<const Target> targets, const LeaseOptions& options) {
  const auto called = Clock::now();
  TRY(check(targets, options));
  Lease lease = TRY(new_lease(options));
  std::vector<ProcessStop> stops;
  for (const Target& target : targets) {
    auto reserved = reserve(lease.id, target);
    if (!reserved) {
      release(lease.id, stops);
      return std::move(reserved.error());
    }
    stops.push_back(std::move(*reserved));
  }
  ControlledProcess::stop_together(stops, with_driver_deadline(options));
  return conclude(std::move(lease), stops, called);
}

std::vector<Result<LeaseReport>> Controller::stop_each(std::span<const Target> targets,
                                                       const LeaseOptions& options) {
  const auto called = Clock::now();
  Beginning beginning = begin_each(targets, options);
  ControlledProcess::stop_together(beginning.stops, with_driver_deadline(options));
  return conclude_each(std::move(beginning), called);
}

Controller::Beginning Controller::begin_each(std::span<const Target> targets,
                                             const LeaseOptions& options) {
  Beginning beginning;
  const Status checked = check(targets, options);
  for (const Target& target : targets) {
    Result<Lease> lease = checked ? new_lease(options) : Result<Lease>(checked.error());
    Result<ProcessStop> stop =
        lease ? reserve(lease->id, target) : Result<ProcessStop>(lease.error());
    if (!stop) {
      beginning.results.emplace_back(std::move(stop.error()));
      continue;
    }
    beginning.result_of.push_back(beginning.results.size());
    beginning.results.emplace_back(LeaseReport{});
    beginning.leases.push_back(std::move(*lease));
    beginning.stops.push_back(std::move(*stop));
  }
  return beginning;
}

std::vector<Result<LeaseReport>> Controller::conclude_each(Beginning beginning,
                                                           Clock::time_point called) {
  for (std::size_t i = 0; i < beginning.stops.size(); i++) {
    beginning.results[beginning.result_of[i]] =
        conclude(std::move(beginning.leases[i]), {&beginning.stops[i], 1}, called);
  }
  return std::move(beginning.results);
}

Result<LeaseReport> Controller::conclude(Lease lease, std::span<ProcessStop> stops,
                                         Clock::time_point called) {
  const auto failed = std::find_if(stops.begin(), stops.end(),
                                   [](const ProcessStop& stop) { return !stop.report; });
  if (failed != stops.end()) {
    std::vector<ProcessStop> undone;
    std::copy_if(stops.begin(), stops.end(), std::back_inserter(undone),
                 [](const ProcessStop& stop) { return static_cast<bool>(stop.report); });
    ControlledProcess::start_together(undone);
    if (const Status started = first_failure(undone); !started) {
      log_warning("{}", started.error().message());
    }
    release(lease.id, stops);
    return std::move(failed->report.error());
  }
  // A stop may take longer than its lease was to last: who asked for it gets a moment to extend it.
  lease.deadline = std::max(lease.deadline, Clock::now() + kMoment);
  LeaseReport report{lease.id, {}, times_of(stops, called)};
  for (ProcessStop& stop : stops) {
    report.targets.push_back(std::move(*stop.report));
    lease.held.push_back({stop.process, stop.queue_ids, stop.process->watch_end()});
  }
  enter(std::move(lease));
  return report;
}

void Controller::enter(Lease lease) {
  const std::lock_guard lock(mutex_);
  // Waking a thread takes longer than all the rest here: only if it would sleep too long, or has
  // something new to watch.
  const bool watches =
      lease.owner || std::any_of(lease.held.begin(), lease.held.end(),
                                 [](const Held& held) { return static_cast<bool>(held.gone); });
  if (watches || lease.deadline < keeper_sleeps_until_) {
    signal_event(wake_event_.get());
  }
  leases_.emplace(lease.id, std::move(lease));
}

Status Controller::start(LeaseId id) { return std::move(start_each({&id, 1}).front()); }

std::vector<Status> Controller::start_each(std::span<const LeaseId> ids) {
  Ending ending = take_out(ids);
  ControlledProcess::start_together(ending.starts);
  return conclude_each(std::move(ending));
}

Controller::Ending Controller::take_out(std::span<const LeaseId> ids) {
  Ending ending;
  for (const LeaseId id : ids) {
    std::unique_lock lock(mutex_);
    auto node = leases_.extract(id);
    lock.unlock();
    ending.results.push_back(node.empty() ? Status(no_such_lease(id)) : ok());
    if (!node.empty()) {
      for (ProcessStop& stop : stops_of(node.mapped())) {
        ending.starts.push_back(std::move(stop));
        ending.result_of.push_back(ending.results.size() - 1);
      }
      ending.leases.push_back(std::move(node.mapped()));
    }
  }
  return ending;
}

std::vector<Status> Controller::conclude_each(Ending ending) {
  for (std::size_t i = 0; i < ending.starts.size(); i++) {
    Status& result = ending.results[ending.result_of[i]];
    if (!ending.starts[i].started && result) {
      result = std::move(ending.starts[i].started);
    }
  }
  for (const Lease& lease : ending.leases) {
    release(lease.id, stops_of(lease));
  }
  return std::move(ending.results);
}

Controller::Swapped Controller::swap_each(std::span<const Target> targets,
                                          const LeaseOptions& options,
                                          std::span<const LeaseId> ids) {
  const auto called = Clock::now();
  Beginning beginning = begin_each(targets, options);
  Ending ending = take_out(ids);
  ControlledProcess::swap_together(beginning.stops, ending.starts, with_driver_deadline(options));
  return {conclude_each(std::move(beginning), called), conclude_each(std::move(ending))};
}

Status Controller::end(Lease& lease) {
  std::vector<ProcessStop> stops = stops_of(lease);
  ControlledProcess::start_together(stops);
  release(lease.id, stops);
  return first_failure(stops);
}

}  // namespace gp::mechanism
