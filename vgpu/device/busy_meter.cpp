#include "device/busy_meter.h"

#include <algorithm>

namespace vgpu::device {

// Counts the time up to now, slot by slot; a slot that begins forgets what was counted a second
// ago.
void BusyMeter::advance(u64 now_ns) {
  if (now_ns / kSlotNs >= counted_ns_ / kSlotNs + kSlots) {
    counted_ns_ = (now_ns / kSlotNs - kSlots + 1) * kSlotNs;
    busy_ns_[counted_ns_ / kSlotNs % kSlots] = 0;
  }
  while (counted_ns_ < now_ns) {
    const u64 slot = counted_ns_ / kSlotNs;
    const u64 end = std::min(now_ns, (slot + 1) * kSlotNs);
    busy_ns_[slot % kSlots] += busy_ ? end - counted_ns_ : 0;
    counted_ns_ = end;
    if (end == (slot + 1) * kSlotNs) {
      busy_ns_[(slot + 1) % kSlots] = 0;
    }
  }
}

void BusyMeter::set(bool busy, u64 now_ns) {
  advance(now_ns);
  busy_ = busy;
}

u32 BusyMeter::percent(u64 now_ns) {
  advance(now_ns);
  u64 busy = 0;
  for (const u64 slot : busy_ns_) {
    busy += slot;
  }
  const u64 window = (kSlots - 1) * kSlotNs + now_ns % kSlotNs;
  return static_cast<u32>((busy * 100 + window / 2) / window);
}

}  // namespace vgpu::device
