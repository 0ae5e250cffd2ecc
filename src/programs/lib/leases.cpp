// Leases: the Controller behind a context, made when it is first needed, and the leases it has
// given out. A lease may end on its own at any time, even before the call that made it has
// returned.
#include <cerrno>
#include <cstddef>
#include <new>

#include "lib/context.h"

namespace gp::lib {

using mechanism::Controller;
using mechanism::LeaseEnd;

Leases::~Leases() {
  if (!is_of_this_process()) {
    // Moved to where no destructor runs.
    alignas(std::shared_ptr<Controller>) std::byte grave[sizeof controller_];
    new (grave) std::shared_ptr<Controller>(std::move(controller_));
  }
}

Result<std::shared_ptr<Controller>> Leases::controller() {
  const std::scoped_lock lock(mutex_);
  if (closed_) {
    return Error{ESTALE, "the context was closed", ""};
  }
  if (!controller_) {
    controller_ = TRY(Controller::create({.keeper = true}));
  }
  return controller_;
}

Status Leases::prepare(const ProcessKey& process, std::optional<Mechanism> id) {
  return TRY(controller())->prepare(process, id);
}

Result<std::shared_ptr<LeaseRecord>> Leases::stop(std::span<const mechanism::Target> targets,
                                                  const mechanism::LeaseOptions& options) {
  const std::shared_ptr<Controller> controller = TRY(this->controller());
  auto record = std::make_shared<LeaseRecord>();
  {
    const std::scoped_lock lock(mutex_);
    ++stops_in_progress_;
  }
  Result<mechanism::LeaseReport> report = controller->stop(targets, options);
  const std::scoped_lock lock(mutex_);
  if (report) {
    record->report = std::move(*report);
    const auto early = ended_early_.find(record->report.lease);
    if (early != ended_early_.end()) {
      record->end = early->second;
    } else {
      held_[record->report.lease] = record;
    }
  }
  if (--stops_in_progress_ == 0) {
    ended_early_.clear();
  }
  if (!report) {
    return std::move(report.error());
  }
  return record;
}

void Leases::take_events(Controller& controller) {
  const std::scoped_lock lock(mutex_);
  for (const mechanism::LeaseEvent& event : controller.take_events()) {
    const auto found = held_.find(event.lease);
    if (found != held_.end()) {
      found->second->end = event.end;
      held_.erase(found);
    } else if (stops_in_progress_ > 0) {
      ended_early_[event.lease] = event.end;
    }
  }
}

std::optional<LeaseEnd> Leases::state(const LeaseRecord& lease) {
  const Result<std::shared_ptr<Controller>> controller = this->controller();
  if (controller) {
    take_events(**controller);
  }
  const std::scoped_lock lock(mutex_);
  return lease.end;
}

Status Leases::end(LeaseRecord& lease) {
  if (state(lease)) {
    return ok();
  }
  const Result<std::shared_ptr<Controller>> controller = this->controller();
  if (!controller) {
    return ok();  // closing has ended it
  }
  Status started = (*controller)->start(lease.report.lease);
  if (!started && started.error().code == ENOENT) {
    return ok();  // its deadline came first; the event is on its way
  }
  const std::scoped_lock lock(mutex_);
  lease.end = started ? LeaseEnd::ended : LeaseEnd::failed;
  held_.erase(lease.report.lease);
  return started;
}

Status Leases::extend(LeaseRecord& lease, std::chrono::nanoseconds duration) {
  Status extended = Error{ENOENT, "", ""};
  if (!state(lease)) {
    extended = TRY(controller())->extend(lease.report.lease, mechanism::Clock::now() + duration);
  }
  if (!extended && extended.error().code == ENOENT) {
    return Error{ESTALE, "the lease has ended", "stop the queues again"};
  }
  return extended;
}

Result<int> Leases::event_fd() { return TRY(controller())->event_fd(); }

void Leases::close() {
  std::shared_ptr<Controller> last;
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    last = std::move(controller_);
    for (const auto& [id, record] : held_) {
      record->end = LeaseEnd::ended;
    }
    held_.clear();
  }
  // The Controller goes without the lock: it waits for its threads.
}

Status check_usable(const Leases* leases) {
  if (leases == nullptr) {
    return Error{EINVAL, "the handle is null", ""};
  }
  if (!leases->is_of_this_process()) {
    return Error{ECHILD, "the handle belongs to the parent process", "open one after fork"};
  }
  return ok();
}

}  // namespace gp::lib
