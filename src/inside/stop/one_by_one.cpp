#include "stop/mechanisms.h"

#include <errno.h>

#include "libc/clock.h"

namespace gp::stop {

int stop_one_by_one(Session& session, const u32* ids, u32 count, u32* failed_id,
                    int (*set)(Session& session, const Queue& queue, bool run)) {
  CallWindow& window = session.debug.suspend_call;
  window = {monotonic_ns(), 0};
  QueueTable& table = session.queues();
  for (u32 i = 0; i < table.count; i++) {
    table.queues[i].was_stopped = table.queues[i].stopped;
  }
  int error = 0;
  for (u32 i = 0; i < count && error == 0; i++) {
    Queue* queue = find_by_id(table, ids[i]);
    *failed_id = ids[i];
    if (queue == nullptr) {
      error = -ENOENT;
    } else if (!queue->stopped) {
      error = set(session, *queue, false);
      queue->stopped = error == 0;
    }
  }
  window.exit_ns = monotonic_ns();
  for (u32 i = 0; i < table.count && error < 0; i++) {
    Queue& queue = table.queues[i];
    if (queue.stopped && !queue.was_stopped && set(session, queue, true) == 0) {
      queue.stopped = false;
    }
  }
  return error;
}

int start_one_by_one(Session& session, const u32* ids, u32 count,
                     int (*set)(Session& session, const Queue& queue, bool run)) {
  int first_error = 0;
  for (u32 i = 0; i < count; i++) {
    Queue* queue = find_by_id(session.queues(), ids[i]);
    if (queue == nullptr || !queue->stopped) {
      continue;
    }
    const int error = set(session, *queue, true);
    if (error == 0) {
      queue->stopped = false;
    } else if (first_error == 0) {
      first_error = error;
    }
  }
  return first_error;
}

}  // namespace gp::stop
