// The Controller's implementation: declared here for the files it is spread over.
//
// Leases are kept in one table under one lock, which is never held across a driver call. What a
// lease holds is reserved first and stopped afterwards, so that two leases never meet at a queue.
#pragma once

#include <poll.h>
#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/unique_fd.h"
#include "mechanism/controller.h"
#include "mechanism/job.h"

namespace gp::mechanism {

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

inline void wake(const UniqueFd& event) {
  const u64 one = 1;
  [[maybe_unused]] const ssize_t size = ::write(event.get(), &one, sizeof one);
}
inline void drain(const UniqueFd& event) {
  u64 count = 0;
  [[maybe_unused]] const ssize_t size = ::read(event.get(), &count, sizeof count);
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
  std::vector<Result<LeaseReport>> stop_each(std::span<const Target> targets,
                                             const LeaseOptions& options) override;
  std::vector<Status> start_each(std::span<const LeaseId> leases) override;
  Status extend(LeaseId lease, std::chrono::nanoseconds duration) override;
  Status let_go(const discover::ProcessKey& process) override;
  Result<std::vector<KnownQueue>> queues(const discover::ProcessKey& process) override;
  int event_fd() const override { return user_event_.get(); }
  std::vector<LeaseEvent> take_events() override;

 private:
  Result<JobPtr> find_job(const discover::ProcessKey& process);
  // lease_stops.cpp
  Result<Lease> new_lease(Clock::time_point called, const LeaseOptions& options);
  Result<JobStop> reserve(LeaseId lease, const Target& target);
  void release(LeaseId lease, std::span<const JobStop> stops);
  // With the deadline the driver is told of: the latest of all leases, this one included.
  LeaseOptions with_deadline(const LeaseOptions& options, Clock::time_point deadline);
  // What has been tried becomes a lease, or is undone.
  Result<LeaseReport> conclude(Lease lease, std::span<JobStop> stops, Clock::time_point called);
  void enter(Lease lease);
  // Starts what the lease holds. The lease has been taken out of the table.
  Status end(Lease& lease);
  void end_by_itself(LeaseId id, LeaseEnd why);
  Clock::time_point latest_deadline() const;  // under the lock
  Status set_driver_deadline(Clock::time_point latest);

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

}  // namespace gp::mechanism
