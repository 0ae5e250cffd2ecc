// Which signals are doorbells of queues we know, and of which part of the process: a table of
// handles that any thread may ask without a lock, and that is asked at every store to any signal.
#pragma once

#include <atomic>
#include <optional>

#include "libc/types.h"
#include "model/part.h"

namespace gp::agent {

class Doorbells {
 public:
  // No lock, no loop over more than a few neighbouring slots. Empty: it is no doorbell.
  std::optional<Part> part_of(u64 handle) const {
    for (u32 i = slot_of(handle);; i = (i + 1) % kSlots) {
      // Pairs with the release in insert(). Relaxed would do for the table itself: a queue's handle
      // reaches other threads only after it was inserted.
      const u64 found = slots_[i].load(std::memory_order_acquire);
      if ((found & ~kPartBits) == handle) {
        return static_cast<Part>(found & kPartBits);
      }
      if (found == kNever) {
        return std::nullopt;
      }
    }
  }

  // Writers exclude each other. False if the table is full: it always keeps slots that were never
  // used, at which a search ends.
  bool insert(u64 handle);  // of the rest
  void set_part(u64 handle, Part part);
  void erase(u64 handle);
  void clear();

 private:
  static constexpr u32 kSlots = 8192;  // a process has at most 1024 queues at a time
  static constexpr u32 kMostUsed = kSlots / 2;
  static constexpr u64 kNever = 0;   // was never used
  static constexpr u64 kErased = 1;  // no handle: they are addresses
  // Handles are addresses of amd_signal_t, which is aligned to 64 bytes: the part fits below.
  static constexpr u64 kPartBits = 3;
  static_assert(kParts <= kPartBits + 1);

  // Signals are 64 bytes apart and more; the multiplication spreads the rest over the slots.
  static u32 slot_of(u64 handle) {
    return static_cast<u32>(((handle >> 6) * 0x9e3779b97f4a7c15) >> 51);
  }
  static_assert(kSlots == u64{1} << (64 - 51));

  u32 find(u64 handle) const;  // where it is; kSlots: nowhere

  std::atomic<u64> slots_[kSlots] = {};
  u32 used_ = 0;  // slots that are not kNever; written by writers only
};

}  // namespace gp::agent
