#include "stop/queue_table.h"

#include <errno.h>

namespace gp::stop {

Queue* find_by_id(QueueTable& table, u32 id, u32 hint) {
  if (hint < table.count && table.queues[hint].id == id) {
    return &table.queues[hint];
  }
  for (u32 i = 0; i < table.count; i++) {
    if (table.queues[i].id == id) {
      return &table.queues[i];
    }
  }
  return nullptr;
}

Queue* find_by_ring(QueueTable& table, u64 ring_base) {
  Queue* found = nullptr;
  for (u32 i = 0; i < table.count; i++) {
    if (table.queues[i].ring_base != ring_base) {
      continue;
    }
    if (found != nullptr) {
      return nullptr;
    }
    found = &table.queues[i];
  }
  return found;
}

Queue* add(QueueTable& table, const Queue& queue) {
  if (table.count == kMostQueues) {
    return nullptr;
  }
  table.queues[table.count] = queue;
  return &table.queues[table.count++];
}

void remove(QueueTable& table, u32 id) {
  if (Queue* queue = find_by_id(table, id)) {
    *queue = table.queues[--table.count];
  }
}

int check_ids(const u32* ids, u32 count, u32* failed_id) {
  if (count > kMostQueues) {
    *failed_id = count;
    return -E2BIG;
  }
  u64 seen[kMostQueues / 64] = {};
  for (u32 i = 0; i < count; i++) {
    *failed_id = ids[i];
    if (ids[i] >= kMostQueues) {
      return -ERANGE;
    }
    const u64 bit = u64{1} << (ids[i] % 64);
    if (seen[ids[i] / 64] & bit) {
      return -EINVAL;
    }
    seen[ids[i] / 64] |= bit;
  }
  return 0;
}

}  // namespace gp::stop
