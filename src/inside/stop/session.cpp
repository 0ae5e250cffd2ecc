#include "stop/session.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "stop/mechanisms.h"

namespace gp::stop {
namespace {

// Self-debug lasts until another debugger has laid hands on the process and goes: the driver then
// takes the session for that one's and ends it (kfd_chardev.c:3027, kfd_process.c:1225). We open
// another, for this call and those to come.
template <class DriverCall>
int in_session(Session& session, DriverCall call) {
  for (int attempt = 0;; attempt++) {
    if (!session.debug.enabled) {
      if (const int error = open_session(session, session.debug.channel, session.mechanism)) {
        return error;
      }
    }
    const int error = call();
    if (error != -EINVAL || attempt > 0) {
      return error;
    }
    close_debug(session.debug);
  }
}

int stop_by_mechanism(Session& session, const u32* ids, u32 count, u32 grace, u32* failed_id) {
  switch (session.mechanism) {
    case Mechanism::self_debug:
      return in_session(session, [&] { return stop(session.debug, ids, count, grace, failed_id); });
    case Mechanism::update_queue: return stop_by_update(session, ids, count, failed_id);
    case Mechanism::early_ioctl: return stop_by_early_ioctl(session, ids, count, failed_id);
    default: return -EINVAL;  // not done from inside by driver calls
  }
}

// The end of a session has started what it had stopped.
int or_ended(Session& session, int error) {
  if (error != -EINVAL) {
    return error;
  }
  close_debug(session.debug);
  return 0;
}

int start_by_mechanism(Session& session, const u32* ids, u32 count) {
  switch (session.mechanism) {
    case Mechanism::self_debug: return or_ended(session, start(session.debug, ids, count));
    case Mechanism::update_queue: return start_by_update(session, ids, count);
    case Mechanism::early_ioctl: return start_by_early_ioctl(session, ids, count);
    default: return -EINVAL;
  }
}

// The queues of the table, in session.debug.ids.
u32 all_ids(Session& session) {
  const QueueTable& table = session.queues();
  for (u32 i = 0; i < table.count; i++) {
    session.debug.ids[i] = table.queues[i].id;
  }
  return table.count;
}

}  // namespace

int enable_runtime_if_needed(const kfd::Channel& channel) {
  const int error = kfd::enable_runtime(channel);
  return error == -EBUSY ? 0 : error;
}

int open_session(Session& session, const kfd::Channel& channel, Mechanism mechanism) {
  kfd::Version version;
  if (const int error = kfd::get_version(channel, version)) {
    return error;
  }
  session.mechanism = mechanism;
  session.kfd_minor = version.minor;
  session.sysfs_pid = own_sysfs_pid();
  session.debug.channel = channel;
  session.debug.pid = getpid();
  session.queues().count = 0;
  session.debug.holding_all = false;
  if (mechanism != Mechanism::self_debug) {
    return 0;
  }
  if (version.minor < kfd::kDebuggerMinor) {
    return -EOPNOTSUPP;
  }
  if (const int error = open_debug(session.debug, channel, getpid())) {
    return error;
  }
  const bool hopeless =
      session.debug.runtime.runtime_state == abi::runtime_disabled && session.queues().count > 0;
  if (hopeless || session.debug.runtime.runtime_state > abi::runtime_enabled) {
    close_debug(session.debug);
    return hopeless ? -EPERM : -EBUSY;
  }
  return 0;
}

int close_session(Session& session) {
  const int error = session.mechanism == Mechanism::self_debug ? 0 : start_all_queues(session);
  const int closed = close_debug(session.debug);
  session.queues().count = 0;
  return error < 0 ? error : closed;
}

int learn_queues(Session& session) {
  if (session.mechanism == Mechanism::self_debug) {
    return in_session(session, [&] { return refresh(session.debug); });
  }
  if (session.kfd_minor < kfd::kDebuggerMinor) {
    return -EOPNOTSUPP;
  }
  // The snapshot is part of the debugger interface: we are our own debugger for a moment. The table
  // keeps what it knows of stopped queues; it must not be lost with the session.
  DebugSession& debug = session.debug;
  abi::RuntimeInfo runtime;
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) != 0) {
    return -errno;
  }
  int error = kfd::debug_enable(debug.channel, debug.pid, 0, pipe_ends[1], runtime);
  if (error == 0) {
    error = refresh(debug);
    const int disabled = kfd::debug_disable(debug.channel, debug.pid);
    error = error < 0 ? error : disabled;
  }
  close(pipe_ends[0]);
  close(pipe_ends[1]);
  return error;
}

int begin_create(Session& session) {
  if (session.kfd_minor >= kfd::kDebuggerMinor) {
    return 0;
  }
  return session.sysfs_pid == 0 ? -EXDEV : list_queue_ids(session.sysfs_pid, session.before);
}

int end_create(Session& session, const Ring& ring, u32* id) {
  QueueTable& table = session.queues();
  Queue* queue = nullptr;
  if (session.kfd_minor >= kfd::kDebuggerMinor) {
    if (const int error = learn_queues(session)) {
      return error;
    }
    queue = find_by_ring(table, ring.base);
  } else {
    Queue made;
    if (const int error =
            find_new_queue(session.sysfs_pid, session.before, ring.gpu_id, ring.bytes, &made.id)) {
      return error;
    }
    remove(table, made.id);  // an old queue of that id has gone without our seeing it
    made.gpu_id = ring.gpu_id;
    made.ring_base = ring.base;
    made.ring_bytes = ring.bytes;
    queue = add(table, made);
  }
  if (queue == nullptr) {
    return -ENOTUNIQ;
  }
  queue->priority = ring.priority;
  queue->priority_known = true;
  *id = queue->id;
  return 0;
}

int before_destroy(Session& session, u64 ring_base) {
  Queue* queue = find_by_ring(session.queues(), ring_base);
  if (queue == nullptr) {
    return 0;
  }
  const u32 id = queue->id;
  const int error = start_queues(session, &id, 1);
  remove(session.queues(), id);
  return error;
}

int note_priority(Session& session, u64 ring_base, u32 priority) {
  if (priority > abi::kMaxQueuePriority) {
    return -EINVAL;
  }
  Queue* queue = find_by_ring(session.queues(), ring_base);
  if (queue == nullptr) {
    return -ENOENT;
  }
  queue->priority = priority;
  queue->priority_known = true;
  return 0;
}

int stop_queues(Session& session, const u32* ids, u32 count, u32 grace, u32* failed_id) {
  const int error = check_ids(ids, count, failed_id);
  return error < 0 ? error : stop_by_mechanism(session, ids, count, grace, failed_id);
}

int stop_all_queues(Session& session, u32 grace, u32* failed_id) {
  if (session.mechanism == Mechanism::self_debug) {
    return in_session(session, [&] { return stop_all(session.debug, grace, failed_id); });
  }
  u32 ids[kMostQueues];
  const u32 count = all_ids(session);
  for (u32 i = 0; i < count; i++) {
    ids[i] = session.debug.ids[i];
  }
  return stop_by_mechanism(session, ids, count, grace, failed_id);
}

int start_queues(Session& session, const u32* ids, u32 count) {
  u32 failed_id = 0;
  const int error = check_ids(ids, count, &failed_id);
  return error < 0 ? error : start_by_mechanism(session, ids, count);
}

int start_all_queues(Session& session) {
  if (session.mechanism == Mechanism::self_debug) {
    return session.debug.enabled ? or_ended(session, start_all(session.debug)) : 0;
  }
  const u32 count = all_ids(session);
  return start_by_mechanism(session, session.debug.ids, count);
}

}  // namespace gp::stop
