// Work is seen where it is submitted: at the doorbell of its queue. Streams, graphs, cooperative
// launches and everything else that a program may call it by come through here.
//
// AMD's queues accept only stores as rings of their doorbell (DoorbellSignal, ROCr signal.h: every
// other operation on it is an assertion), so four functions are all through which it can be rung.
#include "agent/hooks.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/agent.h"
#include "agent/gate.h"
#include "agent/parts.h"
#include "agent/queues.h"
#include "agent/stopper.h"
#include "agent/watcher.h"

namespace gp::agent {

constinit Runtime runtime;

namespace {

constinit std::atomic<bool> enabled{false};

bool is_enabled() { return enabled.load(std::memory_order_acquire); }

// ---- doorbells ----

// The watcher to be told after the ring; null unless it is the first one after idleness.
Watcher* begins_work(hsa_signal_t signal) {
  const auto part = queues.part_of_doorbell(signal);
  if (!part || !is_enabled()) {
    return nullptr;
  }
  Watcher& watcher = watcher_of(*part);
  return watcher.watching() && watcher.submitting() ? &watcher : nullptr;
}

template <auto Original>
void store(hsa_signal_t signal, hsa_signal_value_t value) {
  Watcher* first = Watcher::any_watching() ? begins_work(signal) : nullptr;
  (runtime.*Original)(signal, value);
  if (first != nullptr) {
    first->submitted();
  }
}

// ---- queues ----

// KFD's name of the GPU. 0 if it is none or cannot be told.
u32 gpu_id_of(hsa_agent_t agent) {
  u32 node = 0;
  if (runtime.agent_get_info(agent,
                             static_cast<hsa_agent_info_t>(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID),
                             &node) != HSA_STATUS_SUCCESS) {
    return 0;
  }
  char path[96], text[32] = {};
  snprintf(path, sizeof path, "/sys/devices/virtual/kfd/kfd/topology/nodes/%u/gpu_id", node);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const ssize_t size = read(fd, text, sizeof text - 1);
  close(fd);
  return size > 0 ? static_cast<u32>(strtoul(text, nullptr, 10)) : 0;
}

void track(hsa_queue_t* made, u32 gpu_id, bool gated) {
  stop::Ring ring;
  {
    const Queues::Lock lock(queues);
    TrackedQueue* queue = queues.add(made);
    if (queue == nullptr) {
      stopper.not_created();
      return;
    }
    queue->gpu_id = gpu_id;
    queue->gated = gated;
    ring = {queue->ring_base, queue->ring_bytes, gpu_id, queue->priority};
  }
  stopper.created(ring);
  stopper.stop_new_queues();
  start_service(Part::rest);
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data,
                          uint32_t private_segment_size, uint32_t group_segment_size,
                          hsa_queue_t** queue) {
  if (!is_enabled()) {
    return runtime.queue_create(agent, size, type, callback, data, private_segment_size,
                                group_segment_size, queue);
  }
  const u32 gpu_id = gpu_id_of(agent);
  stopper.creating();
  // The one queue for cooperative launches is the runtime's, not ours to wrap.
  const bool gated = gate.wanted() && type != HSA_QUEUE_TYPE_COOPERATIVE;
  const hsa_status_t status =
      gated ? gate.create(agent, size, type, callback, data, private_segment_size,
                          group_segment_size, queue)
            : runtime.queue_create(agent, size, type, callback, data, private_segment_size,
                                   group_segment_size, queue);
  if (status == HSA_STATUS_SUCCESS) {
    track(*queue, gpu_id, gated);
  } else {
    stopper.not_created();
  }
  return status;
}

// The queue leaves the hands of the watcher before it is destroyed, and the driver has it running:
// DESTROY_QUEUE waits for a suspended one. The marker is given up when it cannot complete any more.
template <class Destroy>
hsa_status_t forget_and(hsa_queue_t* queue, Destroy destroy_queue) {
  GatedQueue* gated = is_enabled() ? gate.find(queue) : nullptr;
  const auto destroy = [&](hsa_queue_t* doomed) {
    const hsa_status_t status = destroy_queue(doomed);
    if (gated != nullptr && status == HSA_STATUS_SUCCESS) {
      gate.release(*gated);
    }
    return status;
  };
  TrackedQueue* slot = nullptr;
  u64 ring_base = 0;
  if (is_enabled()) {
    const Queues::Lock lock(queues);
    slot = queues.find(queue);
    if (slot != nullptr) {
      ring_base = slot->ring_base;
      queues.set_gone(*slot);
    }
  }
  if (slot == nullptr) {
    return destroy(queue);
  }
  stopper.destroying(ring_base);
  const hsa_status_t status = destroy(queue);
  {
    const Queues::Lock lock(queues);
    Watcher::abandon_marker(*slot);
  }
  queues_changed();
  return status;
}

hsa_status_t queue_destroy(hsa_queue_t* queue) { return forget_and(queue, runtime.queue_destroy); }
hsa_status_t queue_inactivate(hsa_queue_t* queue) {
  return forget_and(queue, runtime.queue_inactivate);
}

// ---- priorities ----

// What ROCr makes of them (hsa_ext_amd.cpp, hsa_amd_queue_set_priority) in KFD's terms
// (libhsakmt queues.c, priority_map). ROCr 1.14 keeps the highest for itself.
u32 kfd_priority(hsa_amd_queue_priority_t priority) {
  constexpr u32 kLow = 0, kNormal = 7, kHigh = 11, kHighBefore = 15;
  constexpr u16 kKeepsHighest = 14;
  u16 minor = 0;
  switch (priority) {
    case HSA_AMD_QUEUE_PRIORITY_LOW: return kLow;
    case HSA_AMD_QUEUE_PRIORITY_NORMAL: return kNormal;
    case HSA_AMD_QUEUE_PRIORITY_HIGH: break;
  }
  runtime.system_get_info(HSA_SYSTEM_INFO_VERSION_MINOR, &minor);
  return minor >= kKeepsHighest ? kHigh : kHighBefore;
}

hsa_status_t queue_set_priority(hsa_queue_t* queue, hsa_amd_queue_priority_t priority) {
  u64 ring_base = 0;
  if (is_enabled()) {
    const Queues::Lock lock(queues);
    if (TrackedQueue* slot = queues.find(queue)) {
      slot->priority = kfd_priority(priority);
      ring_base = slot->ring_base;
    }
  }
  if (ring_base != 0 && streams_have_classes()) {
    move_queue(ring_base, part_of_stream(priority));
  }
  // The runtime's call would also set the percentage to 100 and so start a queue that
  // UPDATE_QUEUE has stopped.
  if (ring_base != 0 && stopper.note_priority(ring_base, kfd_priority(priority))) {
    const Queues::Lock lock(queues);
    if (TrackedQueue* slot = queues.find(queue)) {
      slot->priority_deferred = true;
      slot->wanted_priority = priority;
      return HSA_STATUS_SUCCESS;
    }
  }
  return runtime.set_priority(queue, priority);
}

template <class Function>
void save(const ApiTables& tables, const Slot& slot, Function*& original) {
  original = tables.get<Function>(slot);
}

template <class Function>
void replace(const ApiTables& tables, const Slot& slot, Function*& original, Function* ours) {
  save(tables, slot, original);
  tables.set(slot, ours);
}

void save_originals(const ApiTables& tables) {
  save(tables, slot::amd_signal_async_handler, runtime.signal_async_handler);
  save(tables, slot::amd_queue_intercept_create, runtime.intercept_create);
  save(tables, slot::amd_queue_intercept_register, runtime.intercept_register);
  save(tables, slot::queue_load_read_index_scacquire, runtime.load_read_index);
  save(tables, slot::queue_load_write_index_scacquire, runtime.load_write_index);
  save(tables, slot::queue_cas_write_index_scacq_screl, runtime.cas_write_index);
  save(tables, slot::agent_get_info, runtime.agent_get_info);
  save(tables, slot::system_get_info, runtime.system_get_info);
  save(tables, slot::signal_create, runtime.signal_create);
  save(tables, slot::signal_destroy, runtime.signal_destroy);
  save(tables, slot::signal_load_scacquire, runtime.signal_load);
}

void replace_functions(const ApiTables& tables) {
  replace(tables, slot::signal_store_relaxed, runtime.store_relaxed,
          store<&Runtime::store_relaxed>);
  replace(tables, slot::signal_store_screlease, runtime.store_screlease,
          store<&Runtime::store_screlease>);
  replace(tables, slot::signal_silent_store_relaxed, runtime.silent_store_relaxed,
          store<&Runtime::silent_store_relaxed>);
  replace(tables, slot::signal_silent_store_screlease, runtime.silent_store_screlease,
          store<&Runtime::silent_store_screlease>);
  replace(tables, slot::queue_create, runtime.queue_create, queue_create);
  replace(tables, slot::queue_destroy, runtime.queue_destroy, queue_destroy);
  replace(tables, slot::queue_inactivate, runtime.queue_inactivate, queue_inactivate);
  replace(tables, slot::amd_queue_set_priority, runtime.set_priority, queue_set_priority);
}

}  // namespace

bool install_hooks(const RootTable* root, Refusal& refusal) {
  ApiTables tables;
  if (!tables.recognise(root, refusal)) {
    return false;
  }
  save_originals(tables);
  replace_functions(tables);
  return true;
}

void enable_hooks() { enabled.store(true, std::memory_order_release); }
void disable_hooks() { enabled.store(false, std::memory_order_release); }

}  // namespace gp::agent
