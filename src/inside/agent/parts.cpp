#include "agent/parts.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/agent.h"
#include "agent/queues.h"
#include "agent/stopper.h"
#include "agent/watcher.h"

namespace gp::agent {

bool streams_have_classes() {
  const char* setting = secure_getenv("GPREEMPT_STREAM_CLASSES");
  return setting != nullptr && setting[0] == '1';
}

Part part_of_stream(hsa_amd_queue_priority_t priority) {
  switch (priority) {
    case HSA_AMD_QUEUE_PRIORITY_HIGH: return Part::online;
    case HSA_AMD_QUEUE_PRIORITY_LOW: return Part::offline;
    default: return Part::rest;
  }
}

namespace {

// Queues have come to these parts or left them.
void follow_moves(u32 parts) {
  if (parts == 0) {
    return;
  }
  stopper.queues_moved();
  queues_changed();
  // Work that is under way in them counts for its new part, and not for the old one.
  for (Watcher& watcher : watchers) {
    if ((parts & bit_of(watcher.part())) != 0) {
      watcher.queues_moved();
    }
  }
}

}  // namespace

int move_queue(u64 ring_base, Part part) {
  u32 moved = 0;
  {
    const Queues::Lock lock(queues);
    TrackedQueue* queue = queues.find_ring(ring_base);
    if (queue == nullptr) {
      return -ENOENT;
    }
    queue->named_part = part;
    moved = queues.assign_parts();
  }
  start_service(part);
  follow_moves(moved);
  return 0;
}

void part_taken(Part part, bool taken) {
  u32 moved = 0;
  {
    const Queues::Lock lock(queues);
    queues.set_taken(part, taken);
    moved = queues.assign_parts();
  }
  follow_moves(moved);
}

}  // namespace gp::agent
