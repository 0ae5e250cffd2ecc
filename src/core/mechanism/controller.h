// Stops and restarts queues for users of this layer: chooses a mechanism per process, keeps the
// attachments, and gives out leases. Thread-safe.
//
// Nobody stays frozen: every stop is a lease with a deadline and an owner. The queues run again
// when the lease is ended, its deadline passes, its owner dies, the Controller is destroyed, or
// this process dies in any way. docs/leases.md says how each is brought about.
//
// Leases are kept in one table under one lock, which is never held across a driver call. What a
// lease holds is reserved first and stopped afterwards, so that two leases never meet at a queue.
#pragma once

#include <poll.h>

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "mechanism/mechanism.h"

namespace gp::mechanism {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC

// Queues of one process. No ids: all of them, those created during the lease too.
struct Target {
  ProcessKey process;
  std::vector<u32> queue_ids;
};

struct LeaseOptions {
  Clock::time_point deadline;          // must be given; at most kLongestLease from now
  std::optional<Mechanism> mechanism;  // empty: the best usable one of those on by default
  pid_t owner = 0;                     // 0: this process
  StopOptions stop;
};
constexpr std::chrono::hours kLongestLease{24};
// EINVAL: there is none, or it is too far away. One that has passed ends the stop in a moment.
Status check_deadline(Clock::time_point deadline);

struct TargetReport {
  ProcessKey process;
  Mechanism mechanism = Mechanism::debugger;
  std::vector<QueueReport> queues;
};

// Our own time apart from the driver's: what is measured around the stop calls.
struct CallTimes {
  u64 before_ns = 0;  // from the call of stop() to the driver
  u64 driver_ns = 0;
  u64 after_ns = 0;  // from the driver to the return of stop()
};

using LeaseId = u64;

struct LeaseReport {
  LeaseId lease = 0;
  std::vector<TargetReport> targets;
  CallTimes times;
};

// target_gone: the last of its processes has ended or runs another program.
// failed: a queue could not be started; its process was let go of altogether, which starts it.
enum class LeaseEnd { ended, deadline, owner_died, target_gone, failed };
const char* name(LeaseEnd end);
struct LeaseEvent {
  LeaseId lease = 0;
  LeaseEnd end = LeaseEnd::ended;
};

class ControlledProcess;
struct ProcessStop;

class Controller {
 public:
  static Result<std::unique_ptr<Controller>> create(const AttachOptions& options = {});
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;
  ~Controller();  // ends all leases, detaches

  // Attaches ahead of time, so that a later stop is one driver call. stop() does it by itself.
  Status prepare(const ProcessKey& process, std::optional<Mechanism> mechanism);
  // All or nothing: if a target fails, those before it run again and the error says which failed.
  // A queue that another lease holds already is refused with EBUSY.
  // Where the mechanism can, one driver call stops all targets.
  Result<LeaseReport> stop(std::span<const Target> targets, const LeaseOptions& options);
  Status start(LeaseId lease);
  // Many at once, each target under a lease of its own that can be ended and extended alone. One
  // result for each, in their order; the time of a call is in the first report it was made for.
  std::vector<Result<LeaseReport>> stop_each(std::span<const Target> targets,
                                             const LeaseOptions& options);
  std::vector<Status> start_each(std::span<const LeaseId> leases);
  // stop_each() and start_each() of other processes; where the mechanism can, by one driver call.
  struct Swapped {
    std::vector<Result<LeaseReport>> stopped;
    std::vector<Status> started;
  };
  Swapped swap_each(std::span<const Target> targets, const LeaseOptions& options,
                    std::span<const LeaseId> leases);
  Status extend(LeaseId lease, Clock::time_point deadline);
  // Detaches from a process, so that another may debug it. EBUSY while a lease holds it.
  Status let_go(const ProcessKey& process);
  // What the driver says of an attached process's queues; attaches if need be.
  Result<std::vector<KnownQueue>> queues(const ProcessKey& process);
  // Readable when leases have ended by themselves; take_events() empties it.
  int event_fd() const { return user_event_.get(); }
  std::vector<LeaseEvent> take_events();

 private:
  using ProcessPtr = std::shared_ptr<ControlledProcess>;
  struct Held {
    ProcessPtr process;
    std::vector<u32> queue_ids;  // empty: all
    UniqueFd gone;               // readable when its process has gone; empty: it cannot
  };
  struct Lease {
    LeaseId id = 0;
    Clock::time_point deadline;
    UniqueFd owner;  // a pidfd; empty: this process
    std::vector<Held> held;
  };
  // Stops under leases to be, before and after the driver was called (lease_stops.cpp).
  struct Beginning {
    std::vector<Result<LeaseReport>> results;  // one for each target
    std::vector<std::size_t> result_of;        // of each stop: its place in `results`
    std::vector<Lease> leases;                 // one for each stop
    std::vector<ProcessStop> stops;
  };
  struct Ending {
    std::vector<Status> results;         // one for each lease
    std::vector<std::size_t> result_of;  // of each start: its place in `results`
    std::vector<Lease> leases;
    std::vector<ProcessStop> starts;
  };

  Controller(const AttachOptions& options, UniqueFd wake_event, UniqueFd user_event);
  Result<ProcessPtr> find_process(const ProcessKey& process);
  // lease_stops.cpp
  static std::vector<ProcessStop> stops_of(const Lease& lease);
  Result<Lease> new_lease(const LeaseOptions& options);
  Result<ProcessStop> reserve(LeaseId lease, const Target& target);
  void release(LeaseId lease, std::span<const ProcessStop> stops);
  Beginning begin_each(std::span<const Target> targets, const LeaseOptions& options);
  std::vector<Result<LeaseReport>> conclude_each(Beginning beginning, Clock::time_point called);
  Ending take_out(std::span<const LeaseId> leases);
  std::vector<Status> conclude_each(Ending ending);
  // With the deadline the driver is told of: the latest of all leases, this one included.
  LeaseOptions with_driver_deadline(const LeaseOptions& options);
  // What has been tried becomes a lease, or is undone.
  Result<LeaseReport> conclude(Lease lease, std::span<ProcessStop> stops, Clock::time_point called);
  void enter(Lease lease);
  // Starts what the lease holds. The lease has been taken out of the table.
  Status end(Lease& lease);
  void end_by_itself(LeaseId id, LeaseEnd why);
  Clock::time_point latest_deadline() const;  // under the lock
  Status set_driver_deadline(Clock::time_point latest);
  // lease_keeper.cpp
  void keep_leases();
  struct Watched {
    LeaseId lease = 0;
    LeaseEnd why = LeaseEnd::owner_died;
    const ControlledProcess* process = nullptr;  // target_gone: which of the lease's
  };
  // Fills what to poll; returns the time to sleep, in ms, -1 for ever.
  int gather(std::vector<pollfd>& fds, std::vector<Watched>& watched);
  std::vector<LeaseId> overdue();
  void target_gone(LeaseId lease, const ControlledProcess* process);

  const AttachOptions options_;
  UniqueFd wake_event_;  // the table has changed: look again
  UniqueFd user_event_;  // there are events to take

  std::mutex mutex_;  // of all below
  std::map<ProcessKey, ProcessPtr> processes_;
  std::map<LeaseId, Lease> leases_;
  std::vector<LeaseEvent> events_;
  LeaseId last_lease_ = 0;
  Clock::time_point keeper_sleeps_until_ = Clock::time_point::max();
  bool closing_ = false;

  std::thread keeper_;
};

}  // namespace gp::mechanism
