// How busy the device was during the last second: the share of time in which waves were on its CUs.
// This is what gpu_busy_percent shows; in hardware the firmware of the power controller averages
// the activity of the graphics engine.
//
// Time is counted in slots of a tenth of a second. The window is the slot that is under way and the
// nine before it.
#pragma once

#include <array>

#include "memory/page_table.h"

namespace vgpu::device {

class BusyMeter {
 public:
  bool busy() const { return busy_; }

  // From now on, until it is said otherwise. Times never go back.
  void set(bool busy, u64 now_ns);

  // 0 to 100.
  u32 percent(u64 now_ns);

 private:
  static constexpr u64 kSlotNs = 100'000'000;
  static constexpr u64 kSlots = 10;
  void advance(u64 now_ns);

  bool busy_ = false;
  u64 counted_ns_ = 0;  // everything before is in the slots
  std::array<u64, kSlots> busy_ns_{};
};

}  // namespace vgpu::device
