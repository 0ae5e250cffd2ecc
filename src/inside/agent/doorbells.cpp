#include "agent/doorbells.h"

namespace gp::agent {

u32 Doorbells::find(u64 handle) const {
  if ((handle & ~kPartBits) == 0) {
    return kSlots;
  }
  for (u32 i = slot_of(handle);; i = (i + 1) % kSlots) {
    const u64 found = slots_[i].load(std::memory_order_relaxed);
    if ((found & ~kPartBits) == handle) {
      return i;
    }
    if (found == kNever) {
      return kSlots;
    }
  }
}

bool Doorbells::insert(u64 handle) {
  if ((handle & kPartBits) != 0 || handle == 0) {
    return false;
  }
  if (find(handle) != kSlots) {
    return true;
  }
  u32 i = slot_of(handle);
  u64 found = slots_[i].load(std::memory_order_relaxed);
  for (; found != kNever && found != kErased; found = slots_[i].load(std::memory_order_relaxed)) {
    i = (i + 1) % kSlots;
  }
  if (found == kNever) {
    if (used_ == kMostUsed) {
      return false;
    }
    used_++;
  }
  slots_[i].store(handle, std::memory_order_release);
  return true;
}

void Doorbells::set_part(u64 handle, Part part) {
  const u32 i = find(handle);
  if (i != kSlots) {
    slots_[i].store(handle | index_of(part), std::memory_order_release);
  }
}

void Doorbells::erase(u64 handle) {
  u32 i = find(handle);
  if (i == kSlots) {
    return;
  }
  // If the search would end behind this slot anyway, the slot becomes as if never used, and so do
  // the erased ones before it: a program that makes and destroys queues for ever fills nothing.
  const u32 next = (i + 1) % kSlots;
  if (slots_[next].load(std::memory_order_relaxed) != kNever) {
    slots_[i].store(kErased, std::memory_order_release);
    return;
  }
  do {
    slots_[i].store(kNever, std::memory_order_release);
    used_--;
    i = (i + kSlots - 1) % kSlots;
  } while (slots_[i].load(std::memory_order_relaxed) == kErased);
}

void Doorbells::clear() {
  for (std::atomic<u64>& slot : slots_) {
    slot.store(kNever, std::memory_order_release);
  }
  used_ = 0;
}

}  // namespace gp::agent
