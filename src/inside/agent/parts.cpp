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

int move_queue(u64 ring_base, Part part) {
  Part before = part;
  {
    const Queues::Lock lock(queues);
    TrackedQueue* queue = queues.find_ring(ring_base);
    if (queue == nullptr) {
      return -ENOENT;
    }
    before = queue->part;
    if (before == part) {
      return 0;
    }
    queues.set_part(*queue, part);
  }
  stopper.queues_moved();
  start_service(part);  // which also has the others look at the queues again
  // Work that is under way in it counts for its new part, and not for the old one.
  watcher_of(before).queues_moved();
  watcher_of(part).queues_moved();
  return 0;
}

}  // namespace gp::agent
