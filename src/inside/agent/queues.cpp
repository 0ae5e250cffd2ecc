#include "agent/queues.h"

#include "abi/aql.h"

namespace gp::agent {

constinit Queues queues;

TrackedQueue* Queues::add(hsa_queue_t* queue) {
  TrackedQueue* slot = nullptr;
  for (TrackedQueue& candidate : *this) {
    // A marker that is still waited for belongs to the queue before.
    if (candidate.state == QueueState::free && !candidate.marker_out) {
      slot = &candidate;
      break;
    }
  }
  if (slot == nullptr && used_ == kMostTracked) {
    return nullptr;
  }
  if (!doorbells_.insert(queue->doorbell_signal.handle)) {
    return nullptr;
  }
  if (slot == nullptr) {
    slot = &slots_[used_++];
  }
  const hsa_signal_t marker = slot->marker;
  *slot = TrackedQueue();
  slot->marker = marker;
  slot->state = QueueState::live;
  slot->queue = queue;
  slot->many_producers = queue->type != HSA_QUEUE_TYPE_SINGLE;
  slot->doorbell = queue->doorbell_signal.handle;
  slot->ring_base = reinterpret_cast<u64>(queue->base_address);
  slot->ring_bytes = queue->size * abi::kPacketSize;
  return slot;
}

TrackedQueue* Queues::find(const hsa_queue_t* queue) {
  for (TrackedQueue& slot : *this) {
    if (slot.state == QueueState::live && slot.queue == queue) {
      return &slot;
    }
  }
  return nullptr;
}

TrackedQueue* Queues::find_ring(u64 ring_base) {
  for (TrackedQueue& slot : *this) {
    if (slot.state == QueueState::live && slot.ring_base == ring_base) {
      return &slot;
    }
  }
  return nullptr;
}

void Queues::set_taken(Part part, bool taken) {
  taken_ = taken ? taken_ | bit_of(part) : taken_ & ~bit_of(part);
}

u32 Queues::assign_parts() {
  u32 changed = 0;
  for (TrackedQueue& slot : *this) {
    const Part part = (taken_ & bit_of(slot.named_part)) != 0 ? slot.named_part : Part::rest;
    if (slot.state != QueueState::live || slot.part == part) {
      continue;
    }
    changed |= bit_of(slot.part) | bit_of(part);
    slot.part = part;
    doorbells_.set_part(slot.doorbell, part);
  }
  moves_ += changed != 0 ? 1 : 0;
  return changed;
}

u32 Queues::parts() {
  u32 parts = bit_of(Part::rest);
  for (const TrackedQueue& slot : *this) {
    parts |= slot.state == QueueState::live ? bit_of(slot.part) : 0;
  }
  return parts;
}

void Queues::set_gone(TrackedQueue& queue) {
  doorbells_.erase(queue.doorbell);
  queue.state = QueueState::gone;
  queue.queue = nullptr;
}

void Queues::release(TrackedQueue& queue) { queue.state = QueueState::free; }

void Queues::forget_all() {
  doorbells_.clear();
  for (TrackedQueue& slot : *this) {
    slot = TrackedQueue();
  }
  used_ = 0;
  taken_ = bit_of(Part::rest);
}

}  // namespace gp::agent
