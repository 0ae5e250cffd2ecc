// Which signals are doorbells of queues we know: a set of handles that any thread may ask without a
// lock, and that is asked at every store to any signal.
#pragma once

#include <atomic>

#include "libc/types.h"

namespace gp::agent {

class Doorbells {
 public:
  // No lock, no loop over more than a few neighbouring slots.
  bool contains(u64 handle) const {
    for (u32 i = slot_of(handle);; i = (i + 1) % kSlots) {
      // Pairs with the release in insert(). Relaxed would do for the set itself: a queue's handle
      // reaches other threads only after it was inserted.
      const u64 found = slots_[i].load(std::memory_order_acquire);
      if (found == handle) {
        return true;
      }
      if (found == kNever) {
        return false;
      }
    }
  }

  // Writers exclude each other. False if the set is full: it always keeps slots that were never
  // used, at which a search ends.
  bool insert(u64 handle);
  void erase(u64 handle);
  void clear();

 private:
  static constexpr u32 kSlots = 8192;  // a process has at most 1024 queues at a time
  static constexpr u32 kMostUsed = kSlots / 2;
  static constexpr u64 kNever = 0;   // was never used
  static constexpr u64 kErased = 1;  // no handle: they are addresses

  // Signals are 64 bytes apart and more; the multiplication spreads the rest over the slots.
  static u32 slot_of(u64 handle) {
    return static_cast<u32>(((handle >> 6) * 0x9e3779b97f4a7c15) >> 51);
  }
  static_assert(kSlots == u64{1} << (64 - 51));

  std::atomic<u64> slots_[kSlots] = {};
  u32 used_ = 0;  // slots that are not kNever; written by writers only
};

}  // namespace gp::agent
