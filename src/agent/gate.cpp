#include "agent/gate.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent/hold.h"
#include "mechanism/inside/debug_session.h"

namespace gp::agent {

constinit Gate gate;

namespace {

constexpr u16 kBarrierHeader = abi::packet_barrier_and | abi::kHeaderBarrierBit;
constexpr u64 kNudgeMark = 0x67707265656d7074;  // in a field that programs must leave 0

bool is_nudge(const abi::AqlPacket& packet) {
  return (packet.word.header & abi::kHeaderTypeMask) == abi::packet_barrier_and &&
         packet.barrier.reserved2 == kNudgeMark;
}

abi::AqlPacket* packets_for(u32 count) {
  void* memory = mmap(nullptr, count * sizeof(abi::AqlPacket), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<abi::AqlPacket*>(memory);
}

}  // namespace

bool Gate::wanted() const {
  const char* setting = secure_getenv("GPREEMPT_GATE");
  return setting != nullptr && setting[0] == '1' && runtime.intercept_create != nullptr;
}

GatedQueue* Gate::claim() {
  const Hold hold(mutex_);
  for (GatedQueue& candidate : queues_) {
    if (!candidate.used && !candidate.batch_out && prepare(candidate)) {
      candidate.used = true;
      candidate.allowance = window_.packets;
      return &candidate;
    }
  }
  return nullptr;
}

bool Gate::prepare(GatedQueue& gated) {
  gated.first = gated.end = 0;
  if (gated.held == nullptr) {
    gated.held = packets_for(kCapacity);
  }
  if (gated.batch == nullptr) {
    gated.batch = packets_for(kCapacity + 1);
  }
  if (gated.batch_signal.handle == 0) {
    runtime.signal_create(0, 0, nullptr, &gated.batch_signal);
  }
  return gated.held != nullptr && gated.batch != nullptr && gated.batch_signal.handle != 0;
}

hsa_status_t Gate::create(hsa_agent_t agent, u32 size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          u32 private_bytes, u32 group_bytes, hsa_queue_t** queue) {
  GatedQueue* gated = claim();
  if (gated == nullptr) {
    return runtime.queue_create(agent, size, type, callback, data, private_bytes, group_bytes,
                                queue);
  }
  hsa_status_t status = runtime.intercept_create(agent, size, type, callback, data, private_bytes,
                                                 group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS) {
    gated->queue = *queue;
    status = runtime.intercept_register(*queue, on_packets, gated);
  }
  if (status != HSA_STATUS_SUCCESS) {
    const Hold hold(mutex_);
    gated->used = false;
  }
  return status;
}

void Gate::release(const hsa_queue_t* queue) {
  const Hold hold(mutex_);
  for (GatedQueue& gated : queues_) {
    if (gated.used && gated.queue == queue) {
      const Hold hold_queue(gated.mutex);
      gated.used = false;
      gated.queue = nullptr;
    }
  }
}

u32 Gate::set(const GateWindow& window) {
  const Hold hold(mutex_);
  u32 count = 0;
  for (GatedQueue& gated : queues_) {
    pthread_mutex_lock(&gated.mutex);
  }
  window_ = window;
  for (GatedQueue& gated : queues_) {
    gated.allowance = window.packets;
    pthread_cond_broadcast(&gated.changed);
    pthread_mutex_unlock(&gated.mutex);
    count += gated.used ? 1 : 0;
  }
  for (GatedQueue& gated : queues_) {
    if (gated.used && (window.open || window.packets > 0)) {
      nudge(gated);
    }
  }
  return count;
}

// Moves what may pass now into the batch; how many packets that is, the marker included.
u32 Gate::take(GatedQueue& gated) {
  u64 count = gated.end - gated.first;
  if (!window_.open) {
    count = gated.batch_out ? 0 : count < gated.allowance ? count : gated.allowance;
  }
  for (u64 i = 0; i < count; i++) {
    gated.batch[i] = gated.held[(gated.first + i) % kCapacity];
  }
  gated.first += count;
  if (window_.open || count == 0) {
    return static_cast<u32>(count);
  }
  abi::AqlPacket& marker = gated.batch[count];
  memset(&marker, 0, sizeof marker);
  marker.word.header = kBarrierHeader;
  marker.barrier.completion_signal = gated.batch_signal.handle;
  gated.batch_out = true;
  gated.batch_packets = static_cast<u32>(count);
  gated.batch_started_ns = mechanism::inside::monotonic_ns();
  runtime.silent_store_relaxed(gated.batch_signal, 1);
  return static_cast<u32>(count) + 1;
}

// At most once per call of on_packets(): ROCr's writer counts its calls down through the chain of
// interceptors (intercept_queue.cpp, PacketWriter).
void Gate::pass_on(GatedQueue& gated, hsa_amd_queue_intercept_packet_writer writer) {
  const bool was_out = gated.batch_out;
  const u32 count = take(gated);
  if (count == 0) {
    return;
  }
  writer(gated.batch, count);
  if (gated.batch_out && !was_out) {
    runtime.signal_async_handler(gated.batch_signal, HSA_SIGNAL_CONDITION_LT, 1, on_batch_done,
                                 &gated);
  }
}

// Runs in the thread that rang the doorbell, one at a time for a queue.
void Gate::on_packets(const void* packets, u64 count, u64 /*index*/, void* data,
                      hsa_amd_queue_intercept_packet_writer writer) {
  GatedQueue& gated = *static_cast<GatedQueue*>(data);
  const auto* incoming = static_cast<const abi::AqlPacket*>(packets);
  const Hold hold(gated.mutex);
  bool passed = false;
  for (u64 i = 0; i < count; i++) {
    if (is_nudge(incoming[i])) {
      continue;
    }
    // As with a full ring, the program waits.
    while (gated.end - gated.first == kCapacity) {
      if (!passed && (gate.window_.open || (!gated.batch_out && gated.allowance > 0))) {
        gate.pass_on(gated, writer);
        passed = true;
      } else {
        pthread_cond_wait(&gated.changed, &gated.mutex);
      }
    }
    gated.held[gated.end++ % kCapacity] = incoming[i];
  }
  if (!passed) {
    gate.pass_on(gated, writer);
  }
}

// Runs in ROCr's thread for signals.
bool Gate::on_batch_done(hsa_signal_value_t /*value*/, void* data) {
  GatedQueue& gated = *static_cast<GatedQueue*>(data);
  bool more = false;
  {
    const Hold hold(gated.mutex);
    gated.batch_out = false;
    const u64 span = mechanism::inside::monotonic_ns() - gated.batch_started_ns;
    const GateWindow& window = gate.window_;
    if (window.packets > 0 && window.span_ns > 0) {
      const u64 fitting = gated.batch_packets * window.span_ns / (span == 0 ? 1 : span);
      const u64 wanted = fitting == 0 ? 1 : fitting;
      gated.allowance = static_cast<u32>(wanted < window.packets ? wanted : window.packets);
    }
    more = gated.end != gated.first;
    pthread_cond_broadcast(&gated.changed);
  }
  const Hold hold(gate.mutex_);  // the queue is not destroyed meanwhile
  if (more && gated.used) {
    nudge(gated);
  }
  return false;
}

// Has on_packets() called although the program submits nothing: with a packet that goes no further.
// With mutex_ held, and no queue's: ROCr takes its own lock of the queue before it calls us.
void Gate::nudge(GatedQueue& gated) {
  hsa_queue_t* queue = gated.queue;
  if (queue == nullptr) {
    return;
  }
  u64 index = 0;
  do {
    index = runtime.load_write_index(queue);
    if (index - runtime.load_read_index(queue) >= queue->size / 2) {
      break;  // packets wait there: the ring below brings them to on_packets()
    }
    if (runtime.cas_write_index(queue, index, index + 1) != index) {
      continue;
    }
    auto* packet =
        static_cast<abi::BarrierPacket*>(queue->base_address) + (index & (queue->size - 1));
    memset(&packet->reserved0, 0, sizeof *packet - sizeof packet->header);
    packet->reserved2 = kNudgeMark;
    __atomic_store_n(&packet->header, kBarrierHeader, __ATOMIC_RELEASE);
    break;
  } while (true);
  runtime.store_screlease(queue->doorbell_signal, static_cast<hsa_signal_value_t>(index));
}

}  // namespace gp::agent
