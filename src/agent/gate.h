// The mechanism `gate`: only a window of packets is in flight, the others wait in the agent's
// memory. Works with any GPU, driver and kernel, but cannot stop what already runs.
//
// Doorbells are not held back: every remap of the run list re-reads the write index from memory, so
// packets in the ring would run anyway. Instead the program's queues are intercept queues of ROCr
// (as profilers use them): the program writes into a ring of ROCr's, and what is written there
// comes to on_packets() in order, which passes it on to the ring the GPU reads, or keeps it. A
// window is a batch with a barrier-AND of our own behind it; when its signal falls, the next batch
// may pass. Order stays, and completion is that of the program's own packets.
//
// A queue is gated from its creation on or never: GPREEMPT_GATE=1 says that it shall be.
#pragma once

#include <pthread.h>

#include "abi/aql.h"
#include "agent/runtime.h"
#include "base/types.h"

namespace gp::agent {

struct GateWindow {
  bool open = true;
  u32 packets = 0;  // 0: none passes
  u64 span_ns = 0;  // a batch should take no longer than this; 0: only the number counts
};

struct GatedQueue {
  bool used = false;
  hsa_queue_t* queue = nullptr;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
  abi::AqlPacket* held = nullptr;   // a ring of kCapacity packets
  abi::AqlPacket* batch = nullptr;  // what is passed on now, and its marker
  u64 first = 0, end = 0;           // of the packets held, counted from the beginning
  hsa_signal_t batch_signal = {0};
  bool batch_out = false;
  u64 batch_started_ns = 0;
  u32 batch_packets = 0;
  u32 allowance = 0;  // packets of the next batch, as window.span_ns has shaped it
};

class Gate {
 public:
  bool wanted() const;  // by the environment, and offered by the runtime
  // As hsa_queue_create, with a gate. The queue is known to release().
  hsa_status_t create(hsa_agent_t agent, u32 size, hsa_queue_type32_t type,
                      void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                      u32 private_bytes, u32 group_bytes, hsa_queue_t** queue);
  void release(const hsa_queue_t* queue);  // it is going to be destroyed
  // Applies to all gated queues; returns how many there are.
  u32 set(const GateWindow& window);

 private:
  static constexpr u32 kMostGated = 64;
  static constexpr u32 kCapacity = 4096;

  static void on_packets(const void* packets, u64 count, u64 index, void* data,
                         hsa_amd_queue_intercept_packet_writer writer);
  static bool on_batch_done(hsa_signal_value_t value, void* data);
  static bool prepare(GatedQueue& gated);
  static void nudge(GatedQueue& gated);
  u32 take(GatedQueue& gated);
  void pass_on(GatedQueue& gated, hsa_amd_queue_intercept_packet_writer writer);
  GatedQueue* claim();

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  GateWindow window_;  // with each queue's mutex held for reading, with all for writing
  GatedQueue queues_[kMostGated];
};

extern Gate gate;

}  // namespace gp::agent
