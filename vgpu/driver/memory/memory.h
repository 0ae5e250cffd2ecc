// GPU memory of a process: what the memory and queue ioctls share.
#pragma once

#include "driver/process.h"

namespace vgpu::driver {

constexpr u64 make_handle(u32 gpu_id, u32 index) { return u64{gpu_id} << 32 | index; }
constexpr u32 handle_gpu_id(u64 handle) { return static_cast<u32>(handle >> 32); }
constexpr u32 handle_index(u64 handle) { return static_cast<u32>(handle); }

// The allocation a handle names, or null. The process lock must be held, also for the others.
Allocation* find_allocation(Process& process, u64 handle);
// Gives the allocation a handle.
u64 add_allocation(ProcessDevice& device, Allocation allocation);
// Shows the allocation in the device's page table. 0, -EINVAL: the range is not free or not
// aligned.
int map_allocation(ProcessDevice& device, Allocation& allocation);

// A buffer that a queue uses must be mapped exactly like this (kfd_queue_buffer_get; size 0: any
// size), and stays so while the queue lives. 0 or -EINVAL.
int acquire_queue_buffer(ProcessDevice& device, u64 va, u64 size);
void release_queue_buffer(ProcessDevice& device, u64 va);

// Everything the process has on the device, at its end. No queue may be left.
void release_all_memory(ProcessDevice& device);

}  // namespace vgpu::driver
