#include "agent/stopper.h"

#include <errno.h>
#include <stdlib.h>

#include <algorithm>
#include <utility>

#include "agent/mutex_lock.h"
#include "libc/clock.h"

namespace gp::agent {

constinit Stopper stopper;

namespace {

// The ioctls of early drivers cannot be tried out: on another driver the numbers may mean anything.
bool early_ioctl_allowed() {
  const char* setting = secure_getenv("GPREEMPT_EARLY_IOCTL");
  return setting != nullptr && setting[0] == '1';
}

}  // namespace

void Stopper::prepare(const kfd::Channel& channel) {
  const MutexLock lock(mutex_);
  channel_ = channel;
  over_ = false;
  abilities_ = {};
  kfd::Version version;
  if (kfd::get_version(channel, version) < 0) {
    return;
  }
  kfd_minor_ = version.minor;
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    // -EEXIST: queues exist already, and nobody had enabled it.
    if (stop::enable_runtime_if_needed(channel) == 0) {
      abilities_.add(Mechanism::self_debug);
    }
    abilities_.add(Mechanism::update_queue);
  } else if (open_locked(Mechanism::update_queue) == 0 && session_.sysfs_pid != 0) {
    abilities_.add(Mechanism::update_queue);
  }
  if (early_ioctl_allowed()) {
    abilities_.add(Mechanism::early_ioctl);
  }
}

int Stopper::open_locked(Mechanism mechanism) {
  const int error = stop::open_session(session_, channel_, mechanism);
  open_ = error == 0;
  other_session_ = true;
  return error;
}

void Stopper::close_locked() {
  stop::close_session(session_);
  open_ = false;
  other_session_ = true;
}

void Stopper::close_if_unwanted() {
  if (unwanted_ && held_ == 0) {
    unwanted_ = false;
    if (open_ && session_.mechanism == Mechanism::self_debug) {
      close_locked();
    }
  }
}

int Stopper::make_ready(Part part, Mechanism mechanism) {
  const MutexLock lock(mutex_);
  ready_ |= bit_of(part);
  unwanted_ = false;
  return make_ready_locked(part, mechanism);
}

int Stopper::make_ready_locked(Part part, Mechanism mechanism) {
  if (over_) {
    return -ESHUTDOWN;
  }
  if (!abilities_.has(mechanism)) {
    return -EOPNOTSUPP;
  }
  if (open_ && session_.mechanism == mechanism) {
    return 0;
  }
  if (open_ && (held_ & ~bit_of(part)) != 0) {
    return -EBUSY;  // another part is stopped by another mechanism, and would be started
  }
  // Before KFD 1.13 what is known of the queues would be lost with the session.
  if (open_ && kfd_minor_ < kfd::kDebuggerMinor) {
    session_.mechanism = mechanism;
    return 0;
  }
  if (open_) {
    close_locked();
  }
  if (const int error = open_locked(mechanism)) {
    return error;
  }
  return mechanism == Mechanism::self_debug ? 0 : learn_priorities();
}

void Stopper::stand_down(Part part) {
  const MutexLock lock(mutex_);
  ready_ &= ~bit_of(part);
  unwanted_ = ready_ == 0;
  close_if_unwanted();
}

// One call per queue can only be made for queues whose priority and ring we know: those that the
// program made. The others in the table are the runtime's own.
int Stopper::learn_priorities() {
  if (kfd_minor_ < kfd::kDebuggerMinor) {
    return 0;
  }
  if (const int error = stop::learn_queues(session_)) {
    return error;
  }
  const Queues::Lock lock(queues);
  for (const TrackedQueue& queue : queues) {
    if (queue.state == QueueState::live) {
      stop::note_priority(session_, queue.ring_base, queue.priority);
    }
  }
  return 0;
}

u32 Stopper::count_stopped() const {
  u32 count = 0;
  for (u32 i = 0; i < session_.queues().count; i++) {
    count += session_.queues().queues[i].stopped ? 1 : 0;
  }
  return count;
}

int Stopper::stop_known() {
  u32 ids[stop::kMostQueues];
  u32 count = 0, failed_id = 0;
  for (u32 i = 0; i < session_.queues().count; i++) {
    const stop::Queue& queue = session_.queues().queues[i];
    if (queue.priority_known) {
      ids[count++] = queue.id;
    }
  }
  return stop::stop_queues(session_, ids, count, abi::kUseDefaultGracePeriod, &failed_id);
}

// Every queue that the program has made is in the table, from which its id is known.
int Stopper::learn_missing() {
  bool missing = false;
  {
    const Queues::Lock lock(queues);
    for (const TrackedQueue& queue : queues) {
      missing = missing || (queue.state == QueueState::live &&
                            stop::find_by_ring(session_.queues(), queue.ring_base) == nullptr);
    }
  }
  if (!missing || kfd_minor_ < kfd::kDebuggerMinor) {
    return 0;
  }
  return session_.mechanism == Mechanism::self_debug ? stop::learn_queues(session_)
                                                     : learn_priorities();
}

// Stops what is of a held part and runs, and starts whatever else is stopped.
int Stopper::apply_to_parts() {
  if (const int error = learn_missing()) {
    return error;
  }
  session_.debug.holding_all = false;
  stop::QueueTable& table = session_.queues();
  bool is_held[stop::kMostQueues] = {};
  {
    const Queues::Lock lock(queues);
    for (const TrackedQueue& queue : queues) {
      const stop::Queue* known = queue.state == QueueState::live && holds(queue.part)
                                     ? stop::find_by_ring(table, queue.ring_base)
                                     : nullptr;
      if (known != nullptr) {
        is_held[known - table.queues] = true;
      }
    }
  }
  u32 to_stop[stop::kMostQueues], to_start[stop::kMostQueues];
  u32 stops = 0, starts = 0, failed_id = 0;
  for (u32 i = 0; i < table.count; i++) {
    const stop::Queue& queue = table.queues[i];
    if (is_held[i] && !queue.stopped) {
      to_stop[stops++] = queue.id;
    } else if (!is_held[i] && queue.stopped) {
      to_start[starts++] = queue.id;
    }
  }
  const int started = starts > 0 ? stop::start_queues(session_, to_start, starts) : 0;
  const int stopped = stops > 0 ? stop::stop_queues(session_, to_stop, stops,
                                                    abi::kUseDefaultGracePeriod, &failed_id)
                                : 0;
  return started < 0 ? started : stopped;
}

int Stopper::apply_holds() {
  u32 parts = 0;
  {
    const Queues::Lock lock(queues);
    parts = queues.parts();
  }
  if (held_ == 0) {
    return stop::start_all_queues(session_);
  }
  if (held_ != bit_of(Part::rest) || parts != bit_of(Part::rest)) {
    return apply_to_parts();
  }
  u32 failed_id = 0;
  return session_.mechanism == Mechanism::self_debug
             ? stop::stop_all_queues(session_, abi::kUseDefaultGracePeriod, &failed_id)
             : stop_known();
}

StopOutcome Stopper::stop(Part part, Mechanism mechanism) {
  const MutexLock lock(mutex_);
  StopOutcome outcome;
  outcome.error = make_ready_locked(part, mechanism);
  if (outcome.error < 0) {
    return outcome;
  }
  const u32 before = count_stopped(), held_before = held_;
  session_.debug.suspend_call = {};
  held_ |= bit_of(part);
  outcome.error = apply_holds();
  if (outcome.error < 0 && held_ != held_before) {
    held_ = held_before;
    apply_holds();  // all or nothing; what cannot be undone ends with the lease
  }
  outcome.driver_enter_ns = session_.debug.suspend_call.entry_ns;
  outcome.driver_leave_ns = session_.debug.suspend_call.exit_ns;
  const u32 after = count_stopped();
  outcome.queues = after - std::min(before, after);  // less: the driver had started them meanwhile
  return outcome;
}

StopOutcome Stopper::start(Part part) {
  const MutexLock lock(mutex_);
  StopOutcome outcome;
  if (!holds(part) || !open_) {
    return outcome;
  }
  const u32 before = count_stopped();
  held_ &= ~bit_of(part);
  outcome.driver_enter_ns = monotonic_ns();
  outcome.error = apply_holds();
  outcome.driver_leave_ns = monotonic_ns();
  const u32 after = count_stopped();
  outcome.queues = before - std::min(before, after);
  if (outcome.error < 0) {
    held_ |= bit_of(part);
  }
  close_if_unwanted();
  return outcome;
}

bool Stopper::stopped(Part part) {
  const MutexLock lock(mutex_);
  return holds(part);
}

void Stopper::queues_moved() {
  const MutexLock lock(mutex_);
  if (held_ != 0 && open_) {
    apply_holds();
  }
}

void Stopper::creating() {
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    return;
  }
  pthread_mutex_lock(&creation_);
  const MutexLock lock(mutex_);
  if (open_) {
    stop::begin_create(session_);
  }
}

void Stopper::not_created() {
  if (kfd_minor_ < kfd::kDebuggerMinor) {
    pthread_mutex_unlock(&creation_);
  }
}

void Stopper::created(const stop::Ring& ring) {
  if (kfd_minor_ >= kfd::kDebuggerMinor) {
    return;  // the driver will tell when it is needed
  }
  {
    const MutexLock lock(mutex_);
    u32 id = 0;
    if (open_) {
      // -ENOTUNIQ: the queue is left alone for ever; queue_id() says that it is not known.
      stop::end_create(session_, ring, &id);
    }
  }
  pthread_mutex_unlock(&creation_);
}

void Stopper::stop_new_queues() {
  const MutexLock lock(mutex_);
  if (held_ == 0 || !open_) {
    return;
  }
  if (session_.mechanism == Mechanism::self_debug) {
    // The driver has raised EC_QUEUE_NEW by now; a session that holds all stops what is new.
    stop::handle_events(session_.debug);
  } else if (learn_priorities() != 0) {
    return;
  }
  apply_holds();
}

void Stopper::destroying(u64 ring_base) {
  const MutexLock lock(mutex_);
  if (open_) {
    stop::before_destroy(session_, ring_base);
  }
}

bool Stopper::note_priority(u64 ring_base, u32 priority) {
  const MutexLock lock(mutex_);
  if (!open_) {
    return false;
  }
  stop::note_priority(session_, ring_base, priority);
  // A suspended queue stays so when UPDATE_QUEUE changes it (DQM:906, q->properties.is_suspended).
  const stop::Queue* queue = stop::find_by_ring(session_.queues(), ring_base);
  return queue != nullptr && queue->stopped && session_.mechanism != Mechanism::self_debug;
}

u32 Stopper::queue_id(u64 ring_base) {
  const MutexLock lock(mutex_);
  const stop::Queue* queue = open_ ? stop::find_by_ring(session_.queues(), ring_base) : nullptr;
  return queue != nullptr ? queue->id : wire::kUnknownQueue;
}

int Stopper::event_fd() {
  const MutexLock lock(mutex_);
  return open_ && session_.debug.enabled ? session_.debug.event_read : -1;
}

bool Stopper::take_other_session() {
  const MutexLock lock(mutex_);
  return std::exchange(other_session_, false);
}

bool Stopper::handle_events() {
  const MutexLock lock(mutex_);
  if (!open_ || !session_.debug.enabled || stop::handle_events(session_.debug) != -EINVAL) {
    return false;
  }
  // The driver has ended the session. We are our own debugger again now rather than at the next
  // stop; if that fails, the stop says why.
  stop::close_debug(session_.debug);
  open_locked(Mechanism::self_debug);
  lost_ |= held_;
  held_ = 0;
  close_if_unwanted();
  return lost_ != 0;
}

bool Stopper::take_lost(Part part) {
  const MutexLock lock(mutex_);
  const bool lost = (lost_ & bit_of(part)) != 0;
  lost_ &= ~bit_of(part);
  return lost;
}

void Stopper::shut_down() {
  const MutexLock lock(mutex_);
  if (open_) {
    close_locked();
  }
  held_ = 0;
  over_ = true;
}

}  // namespace gp::agent
