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
  Part part = Part::rest;          // what it is treated as: the rest, unless
  Part named_part = Part::rest;    // the daemon has taken the part that somebody has put it in
  bool gated = false;              // its ring and its indices may be those of different queues
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

  // Of the search for what it waits for (waits.h).
  u64 blocked_since_ns = 0;        // 0: it was not seen blocked
  u64 blocked_index = 0;           // at this packet
  u64 searched_ns = 0;             // when it was found out by whom; 0: not yet,
  u32 searched_moves = 0;          // after so many moves (Queues::moves):
  u32 awaited = 0;                 // by these parts,
  bool all_awaited_known = false;  // and no others
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
  // The daemon has taken a part, or given it up.
  void set_taken(Part part, bool taken);
  // Puts each queue where it belongs now: the parts that some have come to or left.
  u32 assign_parts();
  u32 moves() const { return moves_; }  // how often some have
  // Parts that have a queue, the rest included.
  u32 parts();
  void set_gone(TrackedQueue& queue);
  void release(TrackedQueue& queue);  // the daemon needs not be told any more
  TrackedQueue* begin() { return slots_; }
  TrackedQueue* end() { return slots_ + used_; }
  u32 slots() const { return used_; }
  // The program's queues no longer exist, or nobody may touch them any more.
  void forget_all();

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  Doorbells doorbells_;
  u32 taken_ = bit_of(Part::rest);  // parts
  u32 moves_ = 0;
  u32 used_ = 0;  // slots that were ever used
  TrackedQueue slots_[kMostTracked];
};

extern Queues queues;

}  // namespace gp::agent
