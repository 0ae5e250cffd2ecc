#include "stop/debug_session.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "libc/clock.h"

namespace gp::stop {
namespace {

constexpr u64 kQueueNew = abi::ec_mask(abi::ec_queue_new);
constexpr u64 kProcessRuntime = abi::ec_mask(abi::ec_process_runtime);
constexpr u64 kSubscribed = kQueueNew | abi::ec_mask(abi::ec_device_queue_delete) | kProcessRuntime;
constexpr u32 kStatusBits = abi::kQueueInvalidMask | abi::kQueueErrorMask;

void close_pipe(DebugSession& session) {
  close(session.event_read);
  session.event_read = -1;
}

int suspend(DebugSession& session, u32 count, u32 grace) {
  session.suspend_call.entry_ns = monotonic_ns();
  const int result =
      kfd::debug_suspend_queues(session.channel, session.pid, session.ids, count, grace);
  session.suspend_call.exit_ns = monotonic_ns();
  return result;
}

struct Tally {
  u32 invalid = 0;  // how many, moved to the front of session.ids
  bool failed = false;
  u32 failed_id = 0;
};

// Notes in the table what a suspend did. The ids the driver did not take are left in session.ids,
// clean, for another try.
Tally note_suspended(DebugSession& session, u32 count) {
  Tally tally;
  for (u32 i = 0; i < count; i++) {
    const u32 status = session.ids[i] & kStatusBits;
    const u32 id = session.ids[i] & ~kStatusBits;
    if (status & abi::kQueueInvalidMask) {
      session.ids[tally.invalid++] = id;
      continue;
    }
    // With ERROR too the driver counts it as suspended: it must be resumed.
    if (Queue* queue = find_by_id(session.queues, id, i)) {
      queue->stopped = true;
    }
    if (status & abi::kQueueErrorMask) {
      tally.failed = true;
      tally.failed_id = id;
    }
  }
  return tally;
}

// Keeps those of the first `count` in session.ids that the table knows as running.
u32 keep_running(DebugSession& session, u32 count) {
  u32 kept = 0;
  for (u32 i = 0; i < count; i++) {
    const Queue* queue = find_by_id(session.queues, session.ids[i]);
    if (queue != nullptr && !queue->stopped) {
      session.ids[kept++] = session.ids[i];
    }
  }
  return kept;
}

// Suspends the first `count` of session.ids. A queue that came into being under an id of the table
// is new again and refused: the snapshot before the second try makes it stoppable. What is refused
// even then does not exist.
int suspend_twice(DebugSession& session, u32 count, u32 grace, Tally& tally) {
  for (int attempt = 0; attempt < 2 && count > 0; attempt++) {
    const int result = suspend(session, count, grace);
    if (result < 0) {
      return result;
    }
    tally = note_suspended(session, count);
    if (tally.failed || tally.invalid == 0) {
      return 0;
    }
    if (const int error = refresh(session)) {
      return error;
    }
    count = keep_running(session, tally.invalid);
  }
  return 0;
}

// Resumes the first `count` of session.ids. What the driver calls invalid has gone.
int resume(DebugSession& session, u32 count) {
  const int result = kfd::debug_resume_queues(session.channel, session.pid, session.ids, count);
  if (result < 0) {
    return result;
  }
  int error = 0;
  for (u32 i = 0; i < count; i++) {
    const u32 id = session.ids[i] & ~kStatusBits;
    if (session.ids[i] & abi::kQueueErrorMask) {
      error = -EIO;
    } else if (Queue* queue = find_by_id(session.queues, id, i)) {
      queue->stopped = false;
    }
  }
  return error;
}

// Starts what was running before a stop that failed. There is nothing to be done if that fails too:
// the lease's end, or ours, is a resume of everything.
void undo_stop(DebugSession& session) {
  u32 count = 0;
  for (u32 i = 0; i < session.queues.count; i++) {
    const Queue& queue = session.queues.queues[i];
    if (queue.stopped && !queue.was_stopped) {
      session.ids[count++] = queue.id;
    }
  }
  if (count > 0) {
    resume(session, count);
  }
}

// Fills session.ids with the running queues among `ids`. -ENOENT with *failed_id: one is not there.
int collect_running(DebugSession& session, const u32* ids, u32 count, u32* collected,
                    u32* failed_id) {
  *collected = 0;
  for (u32 i = 0; i < count; i++) {
    const Queue* queue = find_by_id(session.queues, ids[i]);
    if (queue == nullptr) {
      *failed_id = ids[i];
      return -ENOENT;
    }
    if (!queue->stopped) {
      session.ids[(*collected)++] = ids[i];
    }
  }
  return 0;
}

}  // namespace

int open_debug(DebugSession& session, const kfd::Channel& channel, pid_t pid) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_NONBLOCK | O_CLOEXEC) != 0) {
    return -errno;
  }
  session.channel = channel;
  session.pid = pid;
  session.event_read = pipe_ends[0];
  session.holding_all = false;
  session.queues.count = 0;
  session.runtime = {};
  // Somebody else's session stays theirs: see debug_is_enabled().
  int error = pid != getpid() && kfd::debug_is_enabled(channel, pid) == 1 ? -EALREADY : 0;
  error = error < 0 ? error
                    : kfd::debug_enable(channel, pid, kSubscribed, pipe_ends[1], session.runtime);
  // The driver has its own reference by now. With the last one the pipe ends, which shows.
  close(pipe_ends[1]);
  if (error < 0) {
    close_pipe(session);
    return error;
  }
  session.enabled = true;
  error = refresh(session);
  if (error < 0) {
    close_debug(session);
  }
  return error;
}

int close_debug(DebugSession& session) {
  if (!session.enabled) {
    return 0;
  }
  // Refused if nothing can be stopped (the runtime is not enabled); DISABLE resumes all as well.
  kfd::debug_resume_all(session.channel, session.pid);
  const int error = kfd::debug_disable(session.channel, session.pid);
  session.enabled = false;
  session.holding_all = false;
  session.queues.count = 0;
  close_pipe(session);
  // -EINVAL: not debugged any more, as after the target's exec.
  return error == -ESRCH || error == -EINVAL ? 0 : error;
}

int refresh(DebugSession& session) {
  u32 count = kMostQueues;
  const int error =
      kfd::debug_queue_snapshot(session.channel, session.pid, kQueueNew, session.entries, &count);
  if (error < 0) {
    return error;
  }
  for (u32 i = 0; i < session.queues.count; i++) {
    session.before.queues[i] = session.queues.queues[i];
  }
  session.before.count = session.queues.count;
  session.queues.count = 0;
  for (u32 i = 0; i < count && i < kMostQueues; i++) {
    const abi::QueueSnapshotEntry& entry = session.entries[i];
    Queue queue;
    const Queue* known = find_by_id(session.before, entry.queue_id);
    // The same id with EC_QUEUE_NEW, or with another ring, is another queue, and runs.
    if (known != nullptr && !(entry.exception_status & kQueueNew) &&
        known->ring_base == entry.ring_base_address) {
      queue = *known;
    }
    queue.id = entry.queue_id;
    queue.gpu_id = entry.gpu_id;
    queue.ring_base = entry.ring_base_address;
    queue.ring_bytes = entry.ring_size;
    queue.type = entry.queue_type;
    add(session.queues, queue);
  }
  return 0;
}

int stop(DebugSession& session, const u32* ids, u32 count, u32 grace, u32* failed_id) {
  u32 running = 0;
  int error = collect_running(session, ids, count, &running, failed_id);
  if (error == -ENOENT) {  // perhaps the table is older than the queue
    error = refresh(session);
    error = error < 0 ? error : collect_running(session, ids, count, &running, failed_id);
  }
  if (error < 0 || running == 0) {
    return error;
  }
  // What this call stops, to be started again if it fails.
  for (u32 i = 0; i < session.queues.count; i++) {
    session.queues.queues[i].was_stopped = session.queues.queues[i].stopped;
  }
  Tally tally;
  error = suspend_twice(session, running, grace, tally);
  if (error == 0 && tally.failed) {
    *failed_id = tally.failed_id;
    error = -EIO;
  } else if (error == 0 && tally.invalid > 0) {
    *failed_id = session.ids[0];
    error = -ENOENT;
  }
  if (error < 0) {
    undo_stop(session);
  }
  return error;
}

int stop_all(DebugSession& session, u32 grace, u32* failed_id) {
  session.holding_all = true;
  session.grace = grace;
  u32 running = 0;
  for (u32 i = 0; i < session.queues.count; i++) {
    Queue& queue = session.queues.queues[i];
    queue.was_stopped = queue.stopped;
    if (!queue.stopped) {
      session.ids[running++] = queue.id;
    }
  }
  Tally tally;
  int error = suspend_twice(session, running, grace, tally);
  // What is invalid at last has gone, which is as good as stopped.
  if (error == 0 && tally.failed) {
    *failed_id = tally.failed_id;
    error = -EIO;
  }
  if (error < 0) {
    session.holding_all = false;
    undo_stop(session);
  }
  return error;
}

int start(DebugSession& session, const u32* ids, u32 count) {
  u32 stopped = 0;
  for (u32 i = 0; i < count; i++) {
    const Queue* queue = find_by_id(session.queues, ids[i]);
    if (queue != nullptr && queue->stopped) {
      session.ids[stopped++] = ids[i];
    }
  }
  return stopped == 0 ? 0 : resume(session, stopped);
}

int start_all(DebugSession& session) {
  session.holding_all = false;
  const int result = kfd::debug_resume_all(session.channel, session.pid);
  if (result < 0) {
    return result;
  }
  for (u32 i = 0; i < session.queues.count; i++) {
    session.queues.queues[i].stopped = false;
  }
  return 0;
}

int handle_events(DebugSession& session) {
  char bytes[64];
  while (read(session.event_read, bytes, sizeof bytes) > 0) {
  }
  bool queues_changed = false;
  for (;;) {
    kfd::DebugEvent event;
    int error = kfd::debug_query_event(session.channel, session.pid, kSubscribed, event);
    if (error == -EAGAIN) {
      break;
    }
    if (error < 0) {
      return error;
    }
    if (event.exceptions & kProcessRuntime) {
      error = kfd::debug_send_runtime_event(session.channel, session.pid, kProcessRuntime);
      if (error < 0) {
        return error;
      }
    }
    queues_changed = queues_changed || (event.exceptions & ~kProcessRuntime) != 0;
  }
  if (!queues_changed) {
    return 0;
  }
  if (const int error = refresh(session)) {
    return error;
  }
  u32 failed_id = 0;
  return session.holding_all ? stop_all(session, session.grace, &failed_id) : 0;
}

}  // namespace gp::stop
