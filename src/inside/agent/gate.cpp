#include "agent/gate.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

#include <new>

#include "agent/mutex_lock.h"

namespace gp::agent {

constinit Gate gate;

namespace {

void* memory_for(u64 bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// One that needs no event of the driver's, of which a process has 4096: no CPU waits for it.
hsa_signal_t create_gate_signal(const GatedQueue& gated) {
  hsa_signal_t signal = {0};
  return runtime.signal_create(1, 1, &gated.agent, &signal) == HSA_STATUS_SUCCESS ? signal
                                                                                  : hsa_signal_t{0};
}

// Nobody else knows the queue yet.
bool provide_signals(GatedQueue& gated) {
  if (gated.has_signals()) {
    return true;
  }
  const hsa_signal_t gate_signal = create_gate_signal(gated);
  hsa_signal_t marker = {0};
  if (gate_signal.handle == 0) {
    return false;
  }
  if (runtime.signal_create(0, 0, nullptr, &marker) != HSA_STATUS_SUCCESS) {
    runtime.signal_destroy(gate_signal);
    return false;
  }
  const MutexLock lock(gated.mutex);
  gated.adopt(marker, gate_signal);
  return true;
}

void pause_for(u64 ns) {
  const timespec pause = {0, static_cast<long>(ns)};
  nanosleep(&pause, nullptr);
}

// As with any full ring, the program waits. Neither the handler nor anybody else is needed for it
// to go on: this may be the very thread that ROCr calls handlers in.
void wait_for_room(GatedQueue& gated, u64 packets) {
  constexpr u64 kFirstPause = 50'000, kLongestPause = 2'000'000;
  for (u64 ns = kFirstPause;; ns = ns < kLongestPause ? 2 * ns : ns) {
    {
      const MutexLock lock(gated.mutex);
      if (gated.has_room(packets)) {
        return;
      }
    }
    pause_for(ns);
  }
}

void provide_spare_signal(GatedQueue& gated) {
  {
    const MutexLock lock(gated.mutex);
    if (!gated.lacks_signal()) {
      return;
    }
  }
  const hsa_signal_t signal = create_gate_signal(gated);
  const MutexLock lock(gated.mutex);
  if (signal.handle != 0) {
    gated.add_signal(signal);
  }
}

// ROCr hands over one packet at a time; another tool in between may hand over more.
class Batch {
 public:
  explicit Batch(u64 packets) : bytes_(packets * sizeof(abi::AqlPacket)) {
    while (bytes_ > sizeof few_ && many_ == nullptr) {
      many_ = static_cast<abi::AqlPacket*>(memory_for(bytes_));
      if (many_ == nullptr) {
        pause_for(1'000'000);  // the packets cannot be refused
      }
    }
  }
  ~Batch() {
    if (many_ != nullptr) {
      munmap(many_, bytes_);
    }
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  abi::AqlPacket* packets() { return many_ != nullptr ? many_ : few_; }

 private:
  abi::AqlPacket few_[1 + GatedQueue::kOurPackets];
  abi::AqlPacket* many_ = nullptr;
  u64 bytes_;
};

}  // namespace

bool Gate::wanted() const {
  const char* setting = secure_getenv("GPREEMPT_GATE");
  return setting != nullptr && setting[0] == '1' && runtime.intercept_create != nullptr;
}

// ---- queues ----

GatedQueue* Gate::claim(hsa_agent_t agent) {
  GatedQueue* gated = take_free();
  if (gated == nullptr) {
    return nullptr;
  }
  gated->agent = agent;
  if (!provide_signals(*gated)) {
    give_up(*gated);
    return nullptr;
  }
  return gated;
}

GatedQueue* Gate::take_free() {
  const MutexLock lock(mutex_);
  for (GatedQueue*& candidate : queues_) {
    if (candidate == nullptr) {
      void* memory = memory_for(sizeof(GatedQueue));
      if (memory == nullptr) {
        return nullptr;
      }
      candidate = new (memory) GatedQueue;
    }
    if (!candidate->taken) {
      candidate->taken = true;
      return candidate;
    }
  }
  return nullptr;
}

void Gate::give_up(GatedQueue& gated) {
  const MutexLock lock(mutex_);
  gated.queue = nullptr;
  gated.taken = false;
}

void Gate::start_serving(GatedQueue& gated, hsa_queue_t* queue) {
  const MutexLock lock(mutex_);
  gated.queue = queue;
  const MutexLock hold_queue(gated.mutex);
  gated.serve(queue->size);
  gated.set(window_);
}

hsa_status_t Gate::create(hsa_agent_t agent, u32 size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          u32 private_bytes, u32 group_bytes, hsa_queue_t** queue) {
  GatedQueue* gated = claim(agent);
  if (gated == nullptr) {
    return runtime.queue_create(agent, size, type, callback, data, private_bytes, group_bytes,
                                queue);
  }
  hsa_status_t status = runtime.intercept_create(agent, size, type, callback, data, private_bytes,
                                                 group_bytes, queue);
  if (status == HSA_STATUS_SUCCESS) {
    start_serving(*gated, *queue);
    status = runtime.intercept_register(*queue, on_packets, gated);
    if (status != HSA_STATUS_SUCCESS) {
      runtime.queue_destroy(*queue);
    }
  }
  if (status != HSA_STATUS_SUCCESS) {
    give_up(*gated);
  }
  return status;
}

GatedQueue* Gate::find(const hsa_queue_t* queue) {
  const MutexLock lock(mutex_);
  for (GatedQueue* gated : queues_) {
    if (gated != nullptr && gated->taken && gated->queue == queue) {
      return gated;
    }
  }
  return nullptr;
}

void Gate::release(GatedQueue& gated) {
  {
    const MutexLock lock(gated.mutex);
    gated.retire();
  }
  give_up(gated);
}

bool Gate::takes_marker(const hsa_queue_t* queue) {
  GatedQueue* gated = find(queue);
  if (gated == nullptr) {
    return true;
  }
  const MutexLock lock(gated->mutex);
  return gated->is_open() && gated->has_room(queue->size / 2);
}

u32 Gate::set(const GateWindow& window) {
  const MutexLock lock(mutex_);
  window_ = window;
  u32 count = 0;
  for (GatedQueue* gated : queues_) {
    if (gated != nullptr && gated->queue != nullptr) {
      const MutexLock hold_queue(gated->mutex);
      gated->set(window);
      count++;
    }
  }
  return count;
}

void Gate::forget_all() {
  const MutexLock lock(mutex_);
  window_ = {};
  for (GatedQueue* gated : queues_) {
    if (gated != nullptr) {
      const MutexLock hold_queue(gated->mutex);
      gated->forget_signals();
      gated->queue = nullptr;
      gated->taken = false;
    }
  }
}

// ---- packets ----

// Runs in the thread that rang the doorbell, one at a time for a queue. ROCr's writer may be called
// once per call: it counts down through the chain of interceptors (intercept_queue.cpp,
// PacketWriter).
void Gate::on_packets(const void* packets, u64 count, u64 /*index*/, void* data,
                      hsa_amd_queue_intercept_packet_writer writer) {
  GatedQueue& gated = *static_cast<GatedQueue*>(data);
  wait_for_room(gated, count);
  provide_spare_signal(gated);
  Batch batch(count + GatedQueue::kOurPackets);
  u32 used = 0;
  bool arm = false;
  hsa_signal_value_t below = 0;
  {
    const MutexLock lock(gated.mutex);
    used = gated.compose(static_cast<const abi::AqlPacket*>(packets), count, batch.packets());
    arm = gated.arm(below);
  }
  writer(batch.packets(), used);
  if (arm) {
    wait_for_marker(gated, below);
  }
}

// Runs in ROCr's thread for signals.
bool Gate::on_marker(hsa_signal_value_t /*value*/, void* data) {
  GatedQueue& gated = *static_cast<GatedQueue*>(data);
  bool arm = false;
  hsa_signal_value_t below = 0;
  {
    const MutexLock lock(gated.mutex);
    gated.disarmed();
    gated.advance();
    arm = gated.arm(below);
  }
  if (arm) {
    wait_for_marker(gated, below);
  }
  return false;
}

// Should that fail, the next packet tries again.
void Gate::wait_for_marker(GatedQueue& gated, hsa_signal_value_t below) {
  if (runtime.signal_async_handler(gated.marker(), HSA_SIGNAL_CONDITION_LT, below, on_marker,
                                   &gated) != HSA_STATUS_SUCCESS) {
    const MutexLock lock(gated.mutex);
    gated.disarmed();
  }
}

}  // namespace gp::agent
