// The queues the program has made through the HSA interface, and what the agent knows of each. The
// runtime's internal queues and the SDMA queues are not among them: they are invisible there.
//
// Everything here is under one lock, which also keeps a queue from being destroyed while the agent
// looks at it. Nobody waits for the GPU with it held, and only a deferred change of priority calls
// the driver.
#pragma once

#include <pthread.h>

#include "agent/doorbells.h"
#include "agent/runtime.h"
#include "wire/wire.h"

namespace gp::agent {

constexpr u32 kMostTracked = wire::kMaxQueuesPerMessage;

enum class QueueState : u8 {
  free,
  live,
  gone,  // destroyed by the program; the daemon has not been told yet
};

struct TrackedQueue {
  QueueState state = QueueState::free;
  Part part = Part::rest;
  bool announced = false;          // the daemon knows it,
  Part announced_as = Part::rest;  // as one of this part
  bool many_producers = false;     // the agent may append packets
  bool priority_deferred = false;
  hsa_amd_queue_priority_t wanted_priority = HSA_AMD_QUEUE_PRIORITY_NORMAL;  // if deferred
  hsa_queue_t* queue = nullptr;
  u64 doorbell = 0;  // handle
  u64 ring_base = 0;
  u32 ring_bytes = 0;
  u32 gpu_id = 0;    // KFD's; 0: unknown
  u32 priority = 7;  // KFD's, 0..15

  // Of the watcher (watcher.h). The signal stays with the slot when the queue has gone.
  hsa_signal_t marker = {0};
  bool marker_out = false;  // the marker is in the ring, or its queue went before it completed
  u64 marker_index = 0;
  u64 done_through = 0;  // all packets below this index have completed
  u64 read_seen = 0;     // read index when progress was last counted
};

class Queues {
 public:
  class Lock {
   public:
    explicit Lock(Queues& queues) : mutex_(&queues.mutex_) { pthread_mutex_lock(mutex_); }
    ~Lock() { pthread_mutex_unlock(mutex_); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    pthread_mutex_t* mutex_;
  };

  // Lock-free: the part for which a store to this signal submits work; empty if it does not.
  std::optional<Part> part_of_doorbell(hsa_signal_t signal) const {
    return doorbells_.part_of(signal.handle);
  }

  // ---- with the lock held ----

  // Null if there is no room: the queue is then not watched.
  TrackedQueue* add(hsa_queue_t* queue);
  TrackedQueue* find(const hsa_queue_t* queue);  // live ones only
  TrackedQueue* find_ring(u64 ring_base);
  void set_part(TrackedQueue& queue, Part part);
  // Parts that have a queue, the rest included.
  u32 parts();
  void set_gone(TrackedQueue& queue);
  void release(TrackedQueue& queue);  // the daemon needs not be told any more
  TrackedQueue* begin() { return slots_; }
  TrackedQueue* end() { return slots_ + used_; }
  // The program's queues no longer exist, or nobody may touch them any more.
  void forget_all();

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Doorbells doorbells_;
  u32 used_ = 0;  // slots that were ever used
  TrackedQueue slots_[kMostTracked];
};

extern Queues queues;

}  // namespace gp::agent
