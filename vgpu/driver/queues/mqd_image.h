// The MQDs and run list packets that the driver would write into memory, for debugfs. The virtual
// GPU itself works from device::Mqd.
#pragma once

#include <vector>

#include "driver/queues/dqm.h"

namespace vgpu::driver {

// The MQD of a queue: compute or SDMA. With the lock of the device queue manager held.
std::vector<u32> mqd_image(const Queue& queue);
// The 56 registers of the slot that runs the queue, or of a free slot (null).
std::vector<u32> hqd_registers(const Queue* queue, const device::HqdView& view);
// The indirect buffer of a run list.
std::vector<u32> run_list_image(const Node& node, const Dqm::RunList& list);

}  // namespace vgpu::driver
