// The queues of one process as the driver names them, and which of them we have stopped. Plain
// data of fixed size: no allocation, so that it can live inside other people's processes.
#pragma once

#include "abi/kfd.h"
#include "libc/types.h"

namespace gp::stop {

constexpr u32 kMostQueues = abi::kMaxQueuesPerProcess;

struct Queue {
  u32 id = 0;  // KFD's: small, per process, used again
  u32 gpu_id = 0;
  u64 ring_base = 0;
  u32 ring_bytes = 0;
  u32 type = abi::queue_type_compute_aql;  // abi::QueueTypeIoc
  u32 priority = 0;                        // 0..15; only UPDATE_QUEUE needs it
  bool priority_known = false;
  bool stopped = false;
  bool was_stopped = false;  // before the call being made: what it stops is undone if it fails
};

struct QueueTable {
  u32 count = 0;
  Queue queues[kMostQueues];
};

// Null if there is none. `hint`: where it probably is; who goes through all queues knows.
Queue* find_by_id(QueueTable& table, u32 id, u32 hint = 0);
// Null if there is none, or more than one: then nobody can tell which is meant.
Queue* find_by_ring(QueueTable& table, u64 ring_base);
// Null if the table is full.
Queue* add(QueueTable& table, const Queue& queue);
void remove(QueueTable& table, u32 id);

// What a call must be given: ids in range, each once, no more than the driver takes. 0 or -errno;
// *failed_id is the id that is wrong.
int check_ids(const u32* ids, u32 count, u32* failed_id);

}  // namespace gp::stop
