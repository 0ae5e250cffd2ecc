// Turning a dispatch packet into waves: what the CP and the SPI do at a kernel launch.
#pragma once

#include <optional>

#include "device/queue.h"

namespace vgpu::device {

// Decodes the descriptor at packet.kernel_object. Nothing if it cannot be read.
std::optional<Kernel> read_kernel(const Vmid& vmid, u64 kernel_object);

// Sizes of the grid's work-group `number`; those at the far edges may be partial.
struct GroupShape {
  u32 id[3];
  u32 size[3];
  u32 items() const { return size[0] * size[1] * size[2]; }
  u32 waves() const { return (items() + 63) / 64; }
};
GroupShape group_shape(const Packet& packet, u64 number);

// Writes the initial state of all waves of the group (AMDGPUUsage, "Initial Kernel Execution
// State"). group.placement and group.scratch are set; registers are allocated here.
void start_waves(WorkGroup& group, const GroupShape& shape);

// Fills in what a wave points to; at start and after a restore.
void attach_wave(WorkGroup& group, u32 wave_index);

// How a kernel's registers and the packet's LDS weigh.
Footprint footprint_of(const Kernel& kernel, u32 waves, u32 group_segment_size);

}  // namespace vgpu::device
