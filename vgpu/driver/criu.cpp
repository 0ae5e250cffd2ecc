// CRIU_OP: PROCESS_INFO evicts all queues of the file's owner, UNPAUSE restores them
// (kfd_chardev.c:2615-2760). Saving and restoring a process's state is not offered.
#include <cerrno>

#include "driver/handlers.h"
#include "driver/queues/queues.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

// The size of each object's private data: struct kfd_criu_*_priv_data of kfd_priv.h.
constexpr u64 kProcessPrivBytes = 8, kDevicePrivBytes = 8, kBoPrivBytes = 272;
constexpr u64 kQueuePrivBytes = 120, kEventPrivBytes = 64;
constexpr u64 kComputeMqdBytes = 2048, kSdmaMqdBytes = 512;

void describe_objects(const Process& process, abi::CriuArgs& args) {
  u32 buffers = 0;
  u64 queue_bytes = 0;
  for (const auto& device : process.devices) {
    for (const auto& [index, allocation] : device->allocations) {
      // Only memory with an address is saved (kgd_mem->va).
      buffers += allocation.va != 0;
    }
  }
  for (const QueuePtr& queue : process.queues) {
    queue_bytes += kQueuePrivBytes +
                   (queue->is_compute() ? kComputeMqdBytes + queue->ctl_stack_size : kSdmaMqdBytes);
  }
  const u32 queues = static_cast<u32>(process.queues.size());
  const u32 events = process.events.count();
  args.num_devices = static_cast<u32>(process.devices.size());
  args.num_bos = buffers;
  args.num_objects = queues + events;
  args.priv_data_size = kProcessPrivBytes + kDevicePrivBytes * args.num_devices +
                        kBoPrivBytes * buffers + queue_bytes + kEventPrivBytes * events;
}

int process_info(Process& process, abi::CriuArgs& args) {
  const std::lock_guard lock(process.mutex);
  if (process.exited || process.devices.empty()) {
    return -ENODEV;
  }
  // Not idempotent: each call adds a reason for eviction, UNPAUSE takes one away.
  if (const int error = evict_process(process, abi::eviction_criu_checkpoint)) {
    restore_process(process);
    process.queues_paused = false;
    return error;
  }
  process.queues_paused = true;
  args.pid = static_cast<u32>(process.pid);
  describe_objects(process, args);
  return 0;
}

int unpause(Process& process) {
  const std::lock_guard lock(process.mutex);
  if (!process.queues_paused) {
    return -EINVAL;
  }
  const int error = restore_process(process);
  process.queues_paused = error != 0;
  return error;
}

int checkpoint(Process& process) {
  const std::lock_guard lock(process.mutex);
  // It may be asked for only while paused; then it would have to save what cannot be saved here.
  return process.queues_paused ? -EOPNOTSUPP : -EINVAL;
}

// Lets user memory that moved during RESTORE be validated again. It never moves here, so there is
// nothing to do for a process that exists.
int resume(const Module& module, const abi::CriuArgs& args) {
  const auto task = look_up_task(static_cast<pid_t>(args.pid));
  return task && module.find_process(task->leader) ? 0 : -ESRCH;
}

}  // namespace

int criu_op(Call& call, abi::CriuArgs& args) {
  switch (args.op) {
    case abi::criu_process_info: return process_info(call.process, args);
    case abi::criu_checkpoint: return checkpoint(call.process);
    case abi::criu_unpause: return unpause(call.process);
    case abi::criu_restore: return -EOPNOTSUPP;
    case abi::criu_resume: return resume(call.module, args);
    default: return -EINVAL;
  }
}

}  // namespace vgpu::driver
