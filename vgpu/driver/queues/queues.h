// What several ioctls do with the queues of a process.
#pragma once

#include "driver/module.h"

namespace vgpu::driver {

// What the last unmap saved of a queue.
struct WaveState {
  u32 ctl_stack_used = 0, save_area_used = 0;  // bytes
};
WaveState wave_state(const Queue& queue);

// The same as the first part of the save area's header, struct kfd_context_save_area_header
// (get_wave_state of kfd_mqd_manager_v9.c).
struct SaveAreaWaveState {
  u32 control_stack_offset, control_stack_size, wave_state_offset, wave_state_size;
};
SaveAreaWaveState save_area_header(const Queue& queue);

// Evicts or restores all queues of the process on all its devices, with SMI events
// (kfd_process_evict_queues, kfd_process_restore_queues). The process lock must be held.
int evict_process(Process& process, u32 trigger);
int restore_process(Process& process);

}  // namespace vgpu::driver
