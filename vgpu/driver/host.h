// What a GPU reports to its driver. Called by the device's workers, which may be waited for by
// whoever holds the driver's locks: only events are raised at once, all else goes to the work
// queue.
#pragma once

#include "driver/module.h"

namespace vgpu::driver {

class NodeHost : public device::Host {
 public:
  NodeHost(Module& module, Node& node) : module_(module), node_(node) {}
  void signal_event(u32 pasid, u32 event_id) override;
  void memory_fault(u32 pasid, const MemoryFault& fault) override;
  void queue_error(device::Mqd& queue, device::QueueError error, u64 error_code) override;

 private:
  Module& module_;
  Node& node_;
};

}  // namespace vgpu::driver
