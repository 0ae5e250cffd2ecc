#include "agent/stopper.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/hold.h"

namespace gp::agent {

constinit Stopper stopper;

namespace inside = mechanism::inside;

namespace {

int way_of(control::Method method, inside::Way* way) {
  switch (method) {
    case control::Method::self_debug: *way = inside::Way::self_debug; return 0;
    case control::Method::update_queue: *way = inside::Way::update_queue; return 0;
    case control::Method::early_ioctl: *way = inside::Way::early_ioctl; return 0;
    case control::Method::gate: break;
  }
  return -EINVAL;
}

u32 ability_for(control::Method method) {
  switch (method) {
    case control::Method::self_debug: return control::can_self_debug;
    case control::Method::update_queue: return control::can_update_queue;
    case control::Method::early_ioctl: return control::can_early_ioctl;
    case control::Method::gate: return control::can_gate;
  }
  return 0;
}

// The ioctls of early drivers cannot be tried out: on another driver the numbers may mean anything.
bool early_ioctl_allowed() {
  const char* setting = secure_getenv("GPREEMPT_EARLY_IOCTL");
  return setting != nullptr && setting[0] == '1';
}

}  // namespace

void Stopper::prepare(const kfd::Channel& channel) {
  const Hold hold(mutex_);
  channel_ = channel;
  over_ = false;
  abilities_ = 0;
  kfd::Version version;
  if (kfd::get_version(channel, version) < 0) {
    return;
  }
  kfd_minor_ = version.minor;
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    // -EEXIST: queues exist already, and nobody had enabled it.
    if (inside::enable_runtime_if_needed(channel) == 0) {
      abilities_ |= control::can_self_debug;
    }
    abilities_ |= control::can_update_queue;
  } else if (open_locked(inside::Way::update_queue) == 0 && session_.sysfs_pid != 0) {
    abilities_ |= control::can_update_queue;
  }
  if (early_ioctl_allowed()) {
    abilities_ |= control::can_early_ioctl;
  }
}

int Stopper::open_locked(inside::Way way) {
  const int error = inside::open_session(session_, channel_, way);
  open_ = error == 0;
  return error;
}

int Stopper::make_ready(control::Method method) {
  const Hold hold(mutex_);
  return make_ready_locked(method);
}

int Stopper::make_ready_locked(control::Method method) {
  inside::Way way{};
  if (const int error = way_of(method, &way)) {
    return error;
  }
  if (over_) {
    return -ESHUTDOWN;
  }
  if ((abilities_ & ability_for(method)) == 0) {
    return -EOPNOTSUPP;
  }
  if (open_ && session_.way == way) {
    return 0;
  }
  // Before KFD 1.13 what is known of the queues would be lost with the session.
  if (open_ && kfd_minor_ < kfd::kDebuggerMinor) {
    session_.way = way;
    return 0;
  }
  if (open_) {
    inside::close_session(session_);
    open_ = false;
  }
  if (const int error = open_locked(way)) {
    return error;
  }
  return way == inside::Way::self_debug ? 0 : learn_priorities();
}

void Stopper::stand_down() {
  const Hold hold(mutex_);
  if (open_ && !holding_ && session_.way == inside::Way::self_debug) {
    inside::close_session(session_);
    open_ = false;
  }
}

// One call per queue can only be made for queues whose priority and ring we know: those that the
// program made. The others in the table are the runtime's own.
int Stopper::learn_priorities() {
  if (kfd_minor_ < kfd::kDebuggerMinor) {
    return 0;
  }
  if (const int error = inside::learn_queues(session_)) {
    return error;
  }
  const Queues::Lock lock(queues);
  for (const TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live) {
      inside::note_priority(session_, queue.ring_base, queue.priority);
    }
  }
  return 0;
}

u32 Stopper::count_stopped() const {
  u32 count = 0;
  for (u32 i = 0; i < session_.debug.queues.count; i++) {
    count += session_.debug.queues.queues[i].stopped ? 1 : 0;
  }
  return count;
}

int Stopper::stop_known(u32 grace, u64 deadline_ns) {
  u32 ids[inside::kMostQueues];
  u32 count = 0, bad = 0;
  for (u32 i = 0; i < session_.debug.queues.count; i++) {
    const inside::Queue& queue = session_.debug.queues.queues[i];
    if (queue.priority_known) {
      ids[count++] = queue.id;
    }
  }
  return inside::stop_queues(session_, ids, count, grace, deadline_ns, &bad);
}

StopOutcome Stopper::stop(control::Method method, u32 grace_1k_clocks, u64 deadline_ns) {
  const Hold hold(mutex_);
  StopOutcome outcome;
  outcome.error = make_ready_locked(method);
  if (outcome.error < 0) {
    return outcome;
  }
  const u32 before = count_stopped();
  grace_ = grace_1k_clocks == 0 ? abi::kUseDefaultGracePeriod : grace_1k_clocks;
  deadline_ns_ = deadline_ns;
  session_.debug.suspend_call = {};
  u32 bad = 0;
  outcome.error = session_.way == inside::Way::self_debug
                      ? inside::stop_all_queues(session_, grace_, deadline_ns, &bad)
                      : stop_known(grace_, deadline_ns);
  outcome.driver_enter_ns = session_.debug.suspend_call.entry_ns;
  outcome.driver_leave_ns = session_.debug.suspend_call.exit_ns;
  outcome.queues = count_stopped() - before;
  holding_ = holding_ || outcome.error == 0;
  return outcome;
}

StopOutcome Stopper::start() {
  const Hold hold(mutex_);
  StopOutcome outcome;
  if (!holding_ || !open_) {
    return outcome;
  }
  const u32 before = count_stopped();
  outcome.driver_enter_ns = inside::monotonic_ns();
  outcome.error = inside::start_all_queues(session_);
  outcome.driver_leave_ns = inside::monotonic_ns();
  outcome.queues = before - count_stopped();
  holding_ = outcome.error < 0;
  return outcome;
}

bool Stopper::stopped() {
  const Hold hold(mutex_);
  return holding_;
}

void Stopper::creating() {
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    return;
  }
  pthread_mutex_lock(&creation_);
  const Hold hold(mutex_);
  if (open_) {
    inside::begin_create(session_);
  }
}

void Stopper::not_created() {
  if (kfd_minor_ < kfd::kDebuggerMinor) {
    pthread_mutex_unlock(&creation_);
  }
}

void Stopper::created(const inside::Ring& ring) {
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    return;  // the driver will tell when it is needed
  }
  {
    const Hold hold(mutex_);
    u32 id = 0;
    if (open_) {
      // -ENOTUNIQ: the queue is left alone for ever; queue_id() says that it is not known.
      inside::end_create(session_, ring, &id);
    }
  }
  pthread_mutex_unlock(&creation_);
}

void Stopper::stop_new_queues() {
  const Hold hold(mutex_);
  if (!holding_ || !open_) {
    return;
  }
  if (session_.way == inside::Way::self_debug) {
    // The driver has raised EC_QUEUE_NEW by now; the session holds all and stops what is new.
    inside::handle_events(session_.debug);
  } else if (learn_priorities() == 0) {
    stop_known(grace_, deadline_ns_);
  }
}

void Stopper::destroying(u64 ring_base) {
  const Hold hold(mutex_);
  if (open_) {
    inside::before_destroy(session_, ring_base);
  }
}

bool Stopper::note_priority(u64 ring_base, u32 priority) {
  const Hold hold(mutex_);
  if (!open_) {
    return false;
  }
  inside::note_priority(session_, ring_base, priority);
  // A suspended queue stays so when UPDATE_QUEUE changes it (DQM:906, q->properties.is_suspended).
  return holding_ && session_.way != inside::Way::self_debug;
}

u32 Stopper::queue_id(u64 ring_base) {
  const Hold hold(mutex_);
  const inside::Queue* queue =
      open_ ? inside::find_by_ring(session_.debug.queues, ring_base) : nullptr;
  return queue != nullptr ? queue->id : control::kUnknownQueue;
}

int Stopper::event_fd() {
  const Hold hold(mutex_);
  return open_ && session_.debug.enabled ? session_.debug.event_read : -1;
}

int Stopper::handle_events() {
  const Hold hold(mutex_);
  return open_ && session_.debug.enabled ? inside::handle_events(session_.debug) : 0;
}

void Stopper::shut_down() {
  const Hold hold(mutex_);
  if (open_) {
    inside::close_session(session_);
  }
  open_ = false;
  holding_ = false;
  over_ = true;
}

}  // namespace gp::agent
