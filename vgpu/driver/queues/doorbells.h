// Doorbell pages: per process and GPU two pages of 64-bit slots in the process's kfd file, mapped
// by the client and by the server; and the remapped MMIO page beside them.
#pragma once

#include "driver/module.h"

namespace vgpu::driver {

// Makes the process's doorbell page of the device if it has none (kfd_alloc_process_doorbells).
// 0 or a negative errno.
int ensure_doorbells(Module& module, ProcessDevice& device);
// As memory that can be mapped on the GPU; null: out of memory.
BufferPtr doorbell_buffer(Module& module, ProcessDevice& device);
BufferPtr mmio_buffer(ProcessDevice& device);

// A free slot for a new queue, set to ~0: a doorbell holds the index of the last packet, so 0 is a
// valid ring. -ENOSPC: all are in use.
int allocate_doorbell(Module& module, ProcessDevice& device, u32* slot);
void free_doorbell(ProcessDevice& device, u32 slot);
// What the slot is called in MQDs and MAP_QUEUES packets: dwords from the start of the BAR.
u32 doorbell_dword_offset(const ProcessDevice& device, u32 slot);

void release_doorbells(Module& module, ProcessDevice& device);

}  // namespace vgpu::driver
