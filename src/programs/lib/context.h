// What the handles of the C API stand for.
#pragma once

#include <unistd.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "discover/discover.h"
#include "gpreempt/gpreempt.h"
#include "lib/reservations.h"
#include "lib/scheduler.h"
#include "mechanism/controller.h"

namespace gp::lib {

// One lease as its holder sees it. The Controller knows it by `id` until it has ended.
struct LeaseRecord {
  mechanism::LeaseReport report;
  std::optional<mechanism::LeaseEnd> end;  // guarded by Leases::mutex_
};

// The Controller and the leases it has given out. Shared by the context and its leases, so that a
// lease can be asked how it is after the context was closed.
class Leases {
 public:
  Status prepare(const ProcessKey& process, std::optional<Mechanism> mechanism);
  Result<std::shared_ptr<LeaseRecord>> stop(std::span<const mechanism::Target> targets,
                                            const mechanism::LeaseOptions& options);
  Status end(LeaseRecord& lease);
  Status extend(LeaseRecord& lease, std::chrono::nanoseconds duration);
  std::optional<mechanism::LeaseEnd> state(const LeaseRecord& lease);
  Result<int> event_fd();
  // Ends everything. Later calls find no Controller.
  void close();
  // The threads of a Controller do not exist in a forked child: there it must be left alone.
  bool is_of_this_process() const { return process_ == ::getpid(); }
  ~Leases();

 private:
  Result<std::shared_ptr<mechanism::Controller>> controller();
  void take_events(mechanism::Controller& controller);

  const pid_t process_ = ::getpid();
  std::mutex mutex_;
  bool closed_ = false;
  std::shared_ptr<mechanism::Controller> controller_;
  std::map<mechanism::LeaseId, std::shared_ptr<LeaseRecord>> held_;
  // A lease may end before stop() has entered it into held_.
  unsigned stops_in_progress_ = 0;
  std::map<mechanism::LeaseId, mechanism::LeaseEnd> ended_early_;
};

// EINVAL for null, ECHILD in a forked child.
Status check_usable(const Leases* leases);

std::optional<WorkClass> work_class_of(u32 number);
u32 number_of(WorkClass work_class);
u32 number_of(discover::QueueType type);

// The mechanism of that name; empty for null. EINVAL if there is none.
Result<std::optional<Mechanism>> mechanism_named(const char* name);
// The process that has this pid now; ESRCH if `start_time` is not 0 and not its.
Result<ProcessKey> find_process(const gpreempt_context& context, pid_t pid, u64 start_time);

}  // namespace gp::lib

struct gpreempt_context {
  gp::discover::Paths paths;
  gp::discover::ClassConfig classes;
  std::shared_ptr<gp::lib::Leases> leases = std::make_shared<gp::lib::Leases>();
  std::unique_ptr<gp::lib::Scheduler> scheduler;
  std::unique_ptr<gp::lib::Reservations> reservations = std::make_unique<gp::lib::Reservations>();
};
