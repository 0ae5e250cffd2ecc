// A wave that arrives at a barrier is counted once and asked again until the last one has arrived,
// which begins the next phase: a wave that remembers an older phase may go on. What a wave has to
// remember is part of its saved state, so a barrier outlives a preemption.
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
