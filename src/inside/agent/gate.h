// The mechanism `gate`: only a window of packets is in flight, the others wait in front of a
// barrier. Works with any GPU, driver and kernel, but cannot stop what already runs.
//
// Doorbells are not held back: every remap of the run list re-reads the write index from memory, so
// packets in the ring would run anyway. A barrier-AND that depends on a signal of ours is read
// again as well, and holds. To put such barriers between the program's packets, its queues are
// intercept queues of ROCr (as profilers use them): the program writes into a ring of ROCr's, and
// what is written there comes to on_packets() in order, which passes it on to the ring the GPU
// reads.
//
// Nothing is ever kept back in the agent's memory. It could only be passed on from within
// on_packets(), which ROCr calls when it finds a new packet in the program's ring; but the next
// packet there may be one that the program has reserved and will not write before an earlier one
// has completed (ROCclr waits for a free signal between the two). A store to a signal opens the
// gate without anybody's help.
//
// A queue is gated from its creation on or never: GPREEMPT_GATE=1 says that it shall be.
//
// Locks: mutex_ > the mutex of a GatedQueue. Neither is held while ROCr is called, except for loads
// and stores of signals. ROCr calls on_packets() with its own lock of the queue held.
#pragma once

#include <pthread.h>

#include "agent/gated_queue.h"
#include "agent/runtime.h"
#include "libc/types.h"

namespace gp::agent {

class Gate {
 public:
  bool wanted() const;  // by the environment, and offered by the runtime
  // As hsa_queue_create, with a gate; without one only if there is no memory for it.
  hsa_status_t create(hsa_agent_t agent, u32 size, hsa_queue_type32_t type,
                      void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                      u32 private_bytes, u32 group_bytes, hsa_queue_t** queue);
  GatedQueue* find(const hsa_queue_t* queue);  // null: has no gate
  void release(GatedQueue& gated);             // its queue has been destroyed
  // The agent may ring the doorbell of this queue, which may have no gate: that will not wait. For
  // a shut gate nobody may wait who holds a lock that the opening of it could need.
  bool takes_marker(const hsa_queue_t* queue);
  // Applies to all gated queues; returns how many there are.
  u32 set(const GateWindow& window);
  void forget_all();  // the runtime shuts down

 private:
  static constexpr u32 kMostGated = 1024;  // KFD_MAX_NUM_OF_QUEUES_PER_PROCESS

  static void on_packets(const void* packets, u64 count, u64 index, void* data,
                         hsa_amd_queue_intercept_packet_writer writer);
  static bool on_marker(hsa_signal_value_t value, void* data);
  static void wait_for_marker(GatedQueue& gated, hsa_signal_value_t below);
  GatedQueue* claim(hsa_agent_t agent);  // with signals
  GatedQueue* take_free();
  void give_up(GatedQueue& gated);
  void start_serving(GatedQueue& gated, hsa_queue_t* queue);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  GateWindow window_;
  // Made when first needed and never unmade: a handler may come after the queue is gone.
  GatedQueue* queues_[kMostGated] = {};
};

extern Gate gate;

}  // namespace gp::agent
