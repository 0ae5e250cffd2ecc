#include "driver/process.h"

#include <algorithm>

namespace vgpu::driver {

ProcessDevice* Process::find_device(u32 gpu_id) {
  if (exited) {
    return nullptr;
  }
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const auto& each) { return each->node.gpu_id == gpu_id; });
  return found == devices.end() ? nullptr : found->get();
}

ProcessDevice* Process::find_bound_device(u32 gpu_id) {
  ProcessDevice* device = find_device(gpu_id);
  return device && device->vm_acquired ? device : nullptr;
}

QueuePtr Process::find_queue(u32 queue_id) {
  const auto found = std::find_if(queues.begin(), queues.end(),
                                  [&](const QueuePtr& queue) { return queue->id == queue_id; });
  return found == queues.end() ? nullptr : *found;
}

void Process::link_queue(const QueuePtr& queue) {
  const std::lock_guard lock(event_mutex);
  queue_slots[queue->id] = true;
  queues.push_front(queue);
}

void Process::unlink_queue(const QueuePtr& queue) {
  const std::lock_guard lock(event_mutex);
  queues.remove(queue);
  queue_slots[queue->id] = false;
}

}  // namespace vgpu::driver
