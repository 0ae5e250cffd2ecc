// Suspending and resuming queues for the debugger (kfd_device_queue_manager.c:1023-1100,
// 3107-3427).
#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "driver/process.h"
#include "driver/queues/dqm.h"

namespace vgpu::driver {
namespace {

// q_array_get_index: only the INVALID bit is masked off, so an entry that still carries ERROR from
// an earlier call names no queue.
u32* find_id(std::span<u32> ids, u32 queue_id) {
  const auto found = std::find_if(
      ids.begin(), ids.end(), [&](u32 id) { return (id & ~abi::kQueueInvalidMask) == queue_id; });
  return found == ids.end() ? nullptr : &*found;
}

}  // namespace

int Dqm::suspend_one(Queue& queue) {
  if (queue.is_suspended) {
    return 0;
  }
  if (queue.exception_status & abi::ec_mask(abi::ec_queue_new) || queue.is_being_destroyed) {
    return -EBUSY;
  }
  queue.is_suspended = true;
  if (queue.is_active) {
    count(queue, -1);
    queue.is_active = false;
  }
  return 0;
}

void Dqm::resume_one(Queue& queue) {
  if (!queue.is_suspended) {
    return;
  }
  queue.is_suspended = false;
  if (queue.should_be_active()) {
    queue.is_active = true;
    count(queue, 1);
  }
}

u32 Dqm::suspend(ProcessDevice& device, std::span<u32> ids, u32 grace_period,
                 u64 clear_exceptions) {
  // Only 8 bits reach the hardware, and there 0 means "wait for ever": on a real GPU the unmap
  // never completes and the GPU is reset. The virtual GPU saves its waves at once.
  if (grace_period != 0 && grace_period != abi::kUseDefaultGracePeriod && grace_period % 256 == 0) {
    log_warning("process {}: a grace period of {} hangs a real GPU; use 1 to 255",
                device.process.pid, grace_period);
  }
  const std::lock_guard lock(mutex_);
  u32 suspended = 0;
  for (const QueuePtr& queue : device.queues) {
    u32* id = find_id(ids, queue->id);
    if (id && suspend_one(*queue) == 0) {
      *id &= ~abi::kQueueInvalidMask;
      ++suspended;
    }
  }
  if (suspended == 0) {
    return 0;
  }
  // Also when all of them were suspended already: one more unmap and map for everybody.
  const int error = execute_suspend();
  for (const QueuePtr& queue : device.queues) {
    u32* id = find_id(ids, queue->id);
    if (!id) {
      continue;
    }
    if (error) {
      *id |= abi::kQueueErrorMask;  // no rollback: the flags stay set
    } else {
      queue->exception_status &= ~clear_exceptions;
    }
  }
  return error ? 0 : suspended;
}

u32 Dqm::resume(ProcessDevice& device, std::span<u32> ids, bool all) {
  const std::lock_guard lock(mutex_);
  u32 resumed = 0;
  for (const QueuePtr& queue : device.queues) {
    u32* id = all ? nullptr : find_id(ids, queue->id);
    if (all || id) {
      resume_one(*queue);
      ++resumed;
    }
    if (id) {
      *id &= ~abi::kQueueInvalidMask;
    }
  }
  if (resumed == 0) {
    return 0;
  }
  if (execute() == 0) {
    destroy_wait_.notify_all();
    return resumed;
  }
  for (const QueuePtr& queue : device.queues) {
    if (u32* id = find_id(ids, queue->id)) {
      *id |= abi::kQueueErrorMask;
    }
  }
  return 0;
}

int Dqm::reserve_debug_vmid() {
  const std::lock_guard lock(mutex_);
  if (debug_vmid_reserved_) {
    return -EBUSY;
  }
  if (const int error = unmap()) {
    return error;
  }
  debug_vmid_reserved_ = true;
  return map();
}

void Dqm::release_debug_vmid() {
  const std::lock_guard lock(mutex_);
  debug_vmid_reserved_ = false;
  if (unmap() == 0) {
    map();
  }
}

}  // namespace vgpu::driver
