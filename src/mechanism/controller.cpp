// Leases are kept in one table under one lock, which is never held across a driver call. What a
// lease holds is reserved first and stopped afterwards, so that two leases never meet at a queue.
//
// One thread ends leases that nobody ends: it sleeps until the first deadline, or until an owner or
// a target goes (their pidfds become readable).
#include "mechanism/controller.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <thread>

#include "base/log.h"
#include "mechanism/job.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

using Clock = std::chrono::steady_clock;
using JobPtr = std::shared_ptr<Job>;

struct Held {
  JobPtr job;
  std::vector<u32> queue_ids;  // empty: all
  UniqueFd gone;               // readable when its process has gone; empty: it cannot
};

struct Lease {
  LeaseId id = 0;
  Clock::time_point deadline;
  UniqueFd owner;  // a pidfd; empty: this process
  std::vector<Held> held;
};

u64 nanoseconds(Clock::time_point time) {
  return static_cast<u64>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count());
}

void wake(const UniqueFd& event) {
  const u64 one = 1;
  [[maybe_unused]] const ssize_t size = ::write(event.get(), &one, sizeof one);
}
void drain(const UniqueFd& event) {
  u64 count = 0;
  [[maybe_unused]] const ssize_t size = ::read(event.get(), &count, sizeof count);
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

class LeasingController final : public Controller {
 public:
  LeasingController(const AttachOptions& options, UniqueFd wake_event, UniqueFd user_event)
      : options_(options),
        wake_event_(std::move(wake_event)),
        user_event_(std::move(user_event)),
        keeper_([this] { keep_leases(); }) {}
  LeasingController(const LeasingController&) = delete;
  LeasingController& operator=(const LeasingController&) = delete;
  ~LeasingController() override;

  Status prepare(const discover::ProcessKey& process, std::optional<Id> mechanism) override;
  Result<LeaseReport> stop(std::span<const Target> targets, const LeaseOptions& options) override;
  Status start(LeaseId lease) override;
  Status extend(LeaseId lease, std::chrono::nanoseconds duration) override;
  Result<std::vector<KnownQueue>> queues(const discover::ProcessKey& process) override;
  int event_fd() const override { return user_event_.get(); }
  std::vector<LeaseEvent> take_events() override;

 private:
  Result<JobPtr> find_job(const discover::ProcessKey& process);
  Result<std::vector<Held>> reserve(LeaseId lease, std::span<const Target> targets);
  Status stop_targets(std::span<const Target> targets, const LeaseOptions& options,
                      std::vector<Held>& held, LeaseReport& report);
  void release(LeaseId lease, std::span<const Held> held);
  // Starts what the lease holds. The lease has been taken out of the table.
  Status end(Lease& lease);
  void end_by_itself(LeaseId id, LeaseEnd why);

  void keep_leases();
  struct Watched {
    LeaseId lease = 0;
    LeaseEnd why = LeaseEnd::owner_died;
    const Job* job = nullptr;  // target_gone: which of the lease's
  };
  // Fills what to poll; returns the time to sleep, in ms, -1 for ever.
  int gather(std::vector<pollfd>& fds, std::vector<Watched>& watched);
  std::vector<LeaseId> overdue();
  void target_gone(LeaseId lease, const Job* job);

  const AttachOptions options_;
  UniqueFd wake_event_;  // the table has changed: look again
  UniqueFd user_event_;  // there are events to take

  std::mutex mutex_;  // of all below
  std::map<discover::ProcessKey, JobPtr> jobs_;
  std::map<LeaseId, Lease> leases_;
  std::vector<LeaseEvent> events_;
  LeaseId last_lease_ = 0;
  Clock::time_point keeper_sleeps_until_ = Clock::time_point::max();
  bool closing_ = false;

  std::thread keeper_;
};

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

int LeasingController::gather(std::vector<pollfd>& fds, std::vector<Watched>& watched) {
  const std::lock_guard lock(mutex_);
  fds = {{wake_event_.get(), POLLIN, 0}};
  watched = {{}};
  auto first = Clock::time_point::max();
  for (const auto& [id, lease] : leases_) {
    first = std::min(first, lease.deadline);
    if (lease.owner) {
      fds.push_back({lease.owner.get(), POLLIN, 0});
      watched.push_back({id, LeaseEnd::owner_died, nullptr});
    }
    for (const Held& held : lease.held) {
      if (held.gone) {
        fds.push_back({held.gone.get(), POLLIN, 0});
        watched.push_back({id, LeaseEnd::target_gone, held.job.get()});
      }
    }
  }
  keeper_sleeps_until_ = first;
  if (closing_ || first == Clock::time_point::max()) {
    return closing_ ? 0 : -1;
  }
  // Rounded up: a lease is not ended early, and the thread does not spin in its last millisecond.
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(first - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 24L * 3600 * 1000));
}

std::vector<LeaseId> LeasingController::overdue() {
  const std::lock_guard lock(mutex_);
  std::vector<LeaseId> ids;
  for (const auto& [id, lease] : leases_) {
    if (lease.deadline <= Clock::now()) {
      ids.push_back(id);
    }
  }
  return ids;
}

void LeasingController::keep_leases() {
  std::vector<pollfd> fds;
  std::vector<Watched> watched;
  for (;;) {
    const int timeout = gather(fds, watched);
    ::poll(fds.data(), fds.size(), timeout);
    {
      const std::lock_guard lock(mutex_);
      if (closing_) {
        return;
      }
    }
    drain(wake_event_);
    for (std::size_t i = 1; i < fds.size(); i++) {
      if (fds[i].revents == 0) {
        continue;
      }
      if (watched[i].why == LeaseEnd::target_gone) {
        target_gone(watched[i].lease, watched[i].job);
      } else {
        end_by_itself(watched[i].lease, watched[i].why);
      }
    }
    for (const LeaseId id : overdue()) {
      end_by_itself(id, LeaseEnd::deadline);
    }
  }
}

void LeasingController::end_by_itself(LeaseId id, LeaseEnd why) {
  std::unique_lock lock(mutex_);
  auto node = leases_.extract(id);
  lock.unlock();
  if (node.empty()) {
    return;  // somebody else was faster
  }
  if (const Status ended = end(node.mapped()); !ended) {
    log_warning("lease {}: {}", id, ended.error().message());
    why = LeaseEnd::failed;
  }
  lock.lock();
  events_.push_back({id, why});
  wake(user_event_);
}

// The other processes of the lease stay stopped; without any it ends.
void LeasingController::target_gone(LeaseId id, const Job* job) {
  JobPtr gone;
  bool last = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = leases_.find(id);
    if (found == leases_.end()) {
      return;
    }
    std::vector<Held>& held = found->second.held;
    const auto which =
        std::find_if(held.begin(), held.end(), [&](const Held& h) { return h.job.get() == job; });
    if (which == held.end()) {
      return;
    }
    gone = which->job;
    gone->release(id);
    held.erase(which);
    last = held.empty();
  }
  if (const Status detached = gone->detach(); !detached) {
    log_debug("{}", detached.error().message());
  }
  if (last) {
    end_by_itself(id, LeaseEnd::target_gone);
  }
}

}  // namespace

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
