// Stops and leases.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "lib/boundary.h"
#include "lib/context.h"

using gp::Error;
using gp::Result;
using gp::Status;
using gp::u32;
using gp::u64;
using namespace gp;
using namespace gp::lib;

struct gpreempt_lease {
  std::shared_ptr<Leases> leases;
  std::shared_ptr<LeaseRecord> record;
};

namespace {

constexpr u32 kLongestGrace = 255;  // an 8-bit field of the hardware; 256 would mean for ever

using Targets = std::vector<mechanism::Target>;

Result<std::chrono::nanoseconds> duration_of(u64 nanoseconds) {
  if (nanoseconds == 0 || nanoseconds > GPREEMPT_LONGEST_LEASE_NS) {
    return Error{EINVAL, fmt::format("a lease of {} ns", nanoseconds),
                 "between 1 ns and GPREEMPT_LONGEST_LEASE_NS, 24 hours"};
  }
  return std::chrono::nanoseconds(nanoseconds);
}

Result<mechanism::LeaseOptions> lease_options(const gpreempt_stop_options* given) {
  const auto wanted = TRY(read_options(given, "gpreempt_stop_options"));
  mechanism::LeaseOptions options;
  options.deadline = mechanism::Clock::now() + TRY(duration_of(wanted.duration_ns));
  options.mechanism = TRY(mechanism_named(wanted.mechanism));
  options.owner = wanted.owner;
  if (wanted.grace_1k_clocks > kLongestGrace) {
    return Error{EINVAL, fmt::format("grace of {} x 1024 clocks", wanted.grace_1k_clocks),
                 "between 1 and 255; 0 for the driver's default"};
  }
  if (wanted.grace_1k_clocks != 0) {
    options.stop.grace_1k_clocks = wanted.grace_1k_clocks;
  }
  return options;
}

Result<Targets> targets_of(const gpreempt_context& context, const gpreempt_queue_name* queues,
                           std::size_t count) {
  if (queues == nullptr || count == 0) {
    return Error{EINVAL, "gpreempt_stop_queues: no queues are named", ""};
  }
  std::map<ProcessKey, std::vector<u32>> by_process;
  std::map<pid_t, ProcessKey> now;  // of the queues without a start time
  for (std::size_t i = 0; i < count; ++i) {
    ProcessKey key{queues[i].pid, queues[i].start_time};
    if (key.start_time == 0) {
      if (!now.contains(key.pid)) {
        now[key.pid] = TRY(find_process(context, key.pid, 0));
      }
      key = now[key.pid];
    }
    std::vector<u32>& ids = by_process[key];
    if (std::find(ids.begin(), ids.end(), queues[i].queue_id) != ids.end()) {
      return Error{
          EINVAL, fmt::format("queue {} of process {} is named twice", queues[i].queue_id, key.pid),
          "name each queue once"};
    }
    if (ids.size() == GPREEMPT_MOST_QUEUES) {
      return Error{EINVAL, fmt::format("more than {} queues of process {}", ids.size(), key.pid),
                   "the driver takes at most 1024 in one call"};
    }
    ids.push_back(queues[i].queue_id);
  }
  Targets targets;
  for (auto& [process, ids] : by_process) {
    targets.push_back({process, std::move(ids)});
  }
  return targets;
}

Result<Targets> targets_of_class(const gpreempt_context& context, u32 number) {
  const auto work_class = work_class_of(number);
  if (!work_class) {
    return Error{EINVAL, fmt::format("class {}", number), "one of GPREEMPT_CLASS_"};
  }
  const auto snapshot =
      TRY(gp::discover::take_snapshot(gp::system_os(), context.paths, context.classes, {}));
  Targets targets;
  for (const gp::discover::Process& process : snapshot.processes) {
    if (process.work_class == *work_class && process.key.pid != ::getpid()) {
      targets.push_back({process.key, {}});
    }
  }
  if (targets.empty()) {
    return Error{ENOENT, fmt::format("no {} process has queues", name(*work_class)), ""};
  }
  return targets;
}

// `targets` is a Result<Targets> made only once the other arguments are known to be good.
template <class MakeTargets>
Status stop(gpreempt_context* context, const gpreempt_stop_options* given, gpreempt_lease** lease,
            MakeTargets make_targets) {
  if (context == nullptr || lease == nullptr) {
    return Error{EINVAL, "no context, or no place for the lease", ""};
  }
  TRY(check_usable(context->leases.get()));
  if (!context->paths.live) {
    return Error{EINVAL, "the queues of a saved copy cannot be stopped", ""};
  }
  const auto options = TRY(lease_options(given));
  const Targets targets = TRY(make_targets());
  auto made = std::make_unique<gpreempt_lease>();
  made->leases = context->leases;
  made->record = TRY(context->leases->stop(targets, options));
  *lease = made.release();
  return gp::ok();
}

// Calls `body` and gives its Status to C.
template <class Body>
int answer(Body&& body) {
  return guarded([&]() -> int {
    const Status status = body();
    return status ? 0 : fail(status.error());
  });
}

Status check_lease(const gpreempt_lease* lease) {
  return check_usable(lease == nullptr ? nullptr : lease->leases.get());
}

u32 number_of(mechanism::QueueOutcome outcome) {
  switch (outcome) {
    case mechanism::QueueOutcome::done: return GPREEMPT_OUTCOME_STOPPED;
    case mechanism::QueueOutcome::already: return GPREEMPT_OUTCOME_ALREADY;
    case mechanism::QueueOutcome::invalid: return GPREEMPT_OUTCOME_INVALID;
    case mechanism::QueueOutcome::failed: break;
  }
  return GPREEMPT_OUTCOME_FAILED;
}

int number_of(mechanism::LeaseEnd end) {
  switch (end) {
    case mechanism::LeaseEnd::ended: return GPREEMPT_LEASE_ENDED;
    case mechanism::LeaseEnd::deadline: return GPREEMPT_LEASE_DEADLINE;
    case mechanism::LeaseEnd::owner_died: return GPREEMPT_LEASE_OWNER_DIED;
    case mechanism::LeaseEnd::target_gone: return GPREEMPT_LEASE_TARGET_GONE;
    case mechanism::LeaseEnd::failed: break;
  }
  return GPREEMPT_LEASE_FAILED;
}

}  // namespace

int gpreempt_prepare(gpreempt_context* context, pid_t pid, uint64_t start_time,
                     const char* mechanism) {
  return answer([&]() -> Status {
    TRY(check_usable(context == nullptr ? nullptr : context->leases.get()));
    const auto id = TRY(mechanism_named(mechanism));
    return context->leases->prepare(TRY(find_process(*context, pid, start_time)), id);
  });
}

int gpreempt_stop_queues(gpreempt_context* context, const gpreempt_queue_name* queues, size_t count,
                         const gpreempt_stop_options* options, gpreempt_lease** lease) {
  return answer([&] {
    return stop(context, options, lease, [&] { return targets_of(*context, queues, count); });
  });
}

int gpreempt_stop_process(gpreempt_context* context, pid_t pid, uint64_t start_time,
                          const gpreempt_stop_options* options, gpreempt_lease** lease) {
  return answer([&] {
    return stop(context, options, lease, [&]() -> Result<Targets> {
      return Targets{{TRY(find_process(*context, pid, start_time)), {}}};
    });
  });
}

int gpreempt_stop_class(gpreempt_context* context, uint32_t work_class,
                        const gpreempt_stop_options* options, gpreempt_lease** lease) {
  return answer([&] {
    return stop(context, options, lease, [&] { return targets_of_class(*context, work_class); });
  });
}

int gpreempt_lease_end(gpreempt_lease* lease) {
  return answer([&]() -> Status {
    TRY(check_lease(lease));
    return lease->leases->end(*lease->record);
  });
}

void gpreempt_lease_free(gpreempt_lease* lease) {
  if (lease == nullptr) {
    return;
  }
  if (lease->leases->is_of_this_process()) {
    gpreempt_lease_end(lease);
  }
  delete lease;
}

int gpreempt_lease_extend(gpreempt_lease* lease, uint64_t duration_ns) {
  return answer([&]() -> Status {
    TRY(check_lease(lease));
    return lease->leases->extend(*lease->record, TRY(duration_of(duration_ns)));
  });
}

int gpreempt_lease_state(const gpreempt_lease* lease) {
  return guarded([&]() -> int {
    const Status usable = check_lease(lease);
    if (!usable) {
      return fail(usable.error());
    }
    const auto end = lease->leases->state(*lease->record);
    return end ? number_of(*end) : GPREEMPT_LEASE_HELD;
  });
}

int gpreempt_lease_fd(gpreempt_context* context) {
  return guarded([&]() -> int {
    const Status usable = check_usable(context == nullptr ? nullptr : context->leases.get());
    if (!usable) {
      return fail(usable.error());
    }
    const Result<int> fd = context->leases->event_fd();
    return fd ? *fd : fail(fd.error());
  });
}

ssize_t gpreempt_lease_queue_count(const gpreempt_lease* lease) {
  if (lease == nullptr) {
    return fail(EINVAL, "the lease is null");
  }
  ssize_t count = 0;
  for (const mechanism::TargetReport& target : lease->record->report.targets) {
    count += std::ssize(target.queues);
  }
  return count;
}

int gpreempt_lease_queue(const gpreempt_lease* lease, size_t index,
                         gpreempt_lease_queue_info* info) {
  return guarded([&]() -> int {
    if (lease == nullptr) {
      return fail(EINVAL, "the lease is null");
    }
    for (const mechanism::TargetReport& target : lease->record->report.targets) {
      if (index < target.queues.size()) {
        gpreempt_lease_queue_info out{};
        out.pid = target.process.pid;
        out.start_time = target.process.start_time;
        out.queue_id = target.queues[index].queue_id;
        out.outcome = number_of(target.queues[index].outcome);
        out.mechanism = info_of(target.mechanism).name;
        return write_answer(out, info, "gpreempt_lease_queue_info");
      }
      index -= target.queues.size();
    }
    return fail(ENOENT, "the lease does not have so many queues");
  });
}

int gpreempt_lease_times(const gpreempt_lease* lease, gpreempt_stop_times* times) {
  return guarded([&]() -> int {
    if (lease == nullptr) {
      return fail(EINVAL, "the lease is null");
    }
    const mechanism::CallTimes& measured = lease->record->report.times;
    gpreempt_stop_times out{};
    out.before_ns = measured.before_ns;
    out.driver_ns = measured.driver_ns;
    out.after_ns = measured.after_ns;
    return write_answer(out, times, "gpreempt_stop_times");
  });
}
