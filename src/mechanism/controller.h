// Stops and restarts queues for users of this layer: chooses a mechanism per process, keeps the
// attachments, and gives out leases. Thread-safe.
//
// Nobody stays frozen: every stop is a lease with a deadline and an owner. The queues run again
// when the lease is ended, its deadline passes, its owner dies, the Controller is destroyed, or
// this process dies in any way. docs/leases.md says how each is brought about.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "mechanism/mechanism.h"

namespace gp::mechanism {

// Queues of one process. No ids: all of them, those created during the lease too.
struct Target {
  discover::ProcessKey process;
  std::vector<u32> queue_ids;
};

struct LeaseOptions {
  std::chrono::nanoseconds duration{};  // must be given; at most kLongestLease
  std::optional<Id> mechanism;          // empty: the best usable one of those on by default
  pid_t owner = 0;                      // 0: this process
  StopOptions stop;
};
constexpr std::chrono::hours kLongestLease{24};

struct TargetReport {
  discover::ProcessKey process;
  Id mechanism = Id::debugger;
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

class Controller {
 public:
  static Result<std::unique_ptr<Controller>> create(const AttachOptions& options = {});
  virtual ~Controller() = default;  // ends all leases, detaches

  // Attaches ahead of time, so that a later stop is one driver call. stop() does it by itself.
  virtual Status prepare(const discover::ProcessKey& process, std::optional<Id> mechanism) = 0;
  // All or nothing: if a target fails, those before it run again and the error says which failed.
  // A queue that another lease holds already is refused with EBUSY.
  // Where the mechanism can, one driver call stops all targets.
  virtual Result<LeaseReport> stop(std::span<const Target> targets,
                                   const LeaseOptions& options) = 0;
  virtual Status start(LeaseId lease) = 0;
  // Many at once, each target under a lease of its own that can be ended and extended alone. One
  // result for each, in their order; the time of a call is in the first report it was made for.
  virtual std::vector<Result<LeaseReport>> stop_each(std::span<const Target> targets,
                                                     const LeaseOptions& options) = 0;
  virtual std::vector<Status> start_each(std::span<const LeaseId> leases) = 0;
  virtual Status extend(LeaseId lease, std::chrono::nanoseconds duration) = 0;
  // Detaches from a process, so that another may debug it. EBUSY while a lease holds it.
  virtual Status let_go(const discover::ProcessKey& process) = 0;
  // What the driver says of an attached process's queues; attaches if need be.
  virtual Result<std::vector<KnownQueue>> queues(const discover::ProcessKey& process) = 0;
  // Readable when leases have ended by themselves; take_events() empties it.
  virtual int event_fd() const = 0;
  virtual std::vector<LeaseEvent> take_events() = 0;
};

}  // namespace gp::mechanism
