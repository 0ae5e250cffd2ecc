// One GPU as the driver keeps it (struct kfd_node).
#pragma once

#include <memory>
#include <string>

#include "device/gpu.h"
#include "driver/files/smi.h"
#include "driver/profiles.h"
#include "driver/queues/dqm.h"
#include "driver/work_queue.h"

namespace vgpu::driver {

struct Node {
  u32 index = 0;  // 0.. among the GPUs; the topology node is index + 1 (0 is the CPU)
  u32 gpu_id = 0;
  u32 render_minor = 0;
  const Profile* profile = nullptr;
  device::GpuConfig config;
  SaveAreaSizes save_area;
  u32 capability = 0, debug_prop = 0;

  std::unique_ptr<device::Gpu> gpu;
  std::unique_ptr<Dqm> dqm;
  SmiClients smi;
  WorkQueue releases;  // of leases whose time is up (preempt/leases.h); before all it uses goes

  // Addresses on the PCI bus: each GPU is the only device of a bus of its own.
  u32 location_id() const { return (index + 1) << 8; }  // bus << 8 | device << 3 | function
  std::string pci_address() const;
  u64 unique_id() const { return 0x0123456789abcdefull + index; }
};

}  // namespace vgpu::driver
