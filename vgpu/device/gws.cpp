#include "device/queue.h"

namespace vgpu::device {

void Gws::init(u32 resource, u32 waves) {
  std::lock_guard lock(mutex_);
  Resource& r = resources_[resource % 64];
  r.waves = waves;
  r.arrived = 0;
}

bool Gws::barrier(isa::Wave& wave, u32 resource) {
  std::lock_guard lock(mutex_);
  Resource& r = resources_[resource % 64];
  if (!wave.gws_arrived) {
    wave.gws_arrived = true;
    wave.gws_phase = r.phase;
    if (++r.arrived >= r.waves) {
      r.arrived = 0;
      ++r.phase;
    }
  }
  if (wave.gws_phase == r.phase) {
    return false;
  }
  wave.gws_arrived = false;
  return true;
}

}  // namespace vgpu::device
