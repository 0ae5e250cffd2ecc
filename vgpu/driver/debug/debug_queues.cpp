// SUSPEND_QUEUES and RESUME_QUEUES (kfd_device_queue_manager.c:3107-3427), and the operations on
// waves that the virtual GPU answers like a GPU that cannot do them.
#include <algorithm>
#include <cerrno>

#include "base/log.h"
#include "driver/debug/debug.h"
#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

// get_queue_ids: the caller's array, every entry marked INVALID until its queue is done.
int read_ids(const Call& call, u64 address, u32 count, std::vector<u32>& ids) {
  if (address == 0) {
    return count ? -EINVAL : 0;
  }
  if (count > abi::kMaxQueuesPerProcess) {
    return -EINVAL;
  }
  ids.resize(count);
  if (count && !call.caller.memory->read(address, ids.data(), ids.size() * sizeof(u32))) {
    return -EFAULT;
  }
  for (u32& id : ids) {
    id |= abi::kQueueInvalidMask;
  }
  return 0;
}

void write_ids(const Call& call, u64 address, const std::vector<u32>& ids) {
  if (!ids.empty() && !call.caller.memory->write(address, ids.data(), ids.size() * sizeof(u32))) {
    log_error("pid {}: cannot write the status of its queues back", call.caller.pid);
  }
}

// After a suspend the header of every save area of the process says what was saved. It is written
// through the GPU's page table, which shows the same memory.
void write_save_area_headers(const Process& process) {
  for (const QueuePtr& queue : process.queues) {
    if (queue->is_compute() && queue->ctx_save_address) {
      const SaveAreaWaveState header = save_area_header(*queue);
      queue->device->vmid->memory.write(queue->ctx_save_address, &header, sizeof(header));
    }
  }
}

}  // namespace

int debug_suspend_queues(Call& call, Process& target, const abi::DbgSuspendQueuesArgs& args) {
  std::vector<u32> ids;
  if (const int error = read_ids(call, args.queue_array_ptr, args.num_queues, ids)) {
    return error;
  }
  u32 total = 0;
  for (const auto& device : target.devices) {
    const std::lock_guard event_lock(target.event_mutex);
    total += device->node.dqm->suspend(*device, ids, args.grace_period, args.exception_mask);
  }
  if (total) {
    write_save_area_headers(target);
  }
  write_ids(call, args.queue_array_ptr, ids);
  return static_cast<int>(total);
}

int debug_resume_queues(Call& call, Process& target, const abi::DbgResumeQueuesArgs& args) {
  const bool all = args.queue_array_ptr == 0;
  std::vector<u32> ids;
  if (!all) {
    if (const int error = read_ids(call, args.queue_array_ptr, args.num_queues, ids)) {
      return error;
    }
  }
  u32 total = 0;
  for (const auto& device : target.devices) {
    total += device->node.dqm->resume(*device, ids, all);
  }
  write_ids(call, args.queue_array_ptr, ids);
  return static_cast<int>(total);
}

int debug_set_launch_mode(Process& target, u32 mode) {
  enum { normal = 0, halt = 1, debug = 3 };  // KFD_DBG_TRAP_WAVE_LAUNCH_MODE_*
  const u32 wanted = mode & 0xff;
  if (wanted == halt || wanted == debug) {
    return -EOPNOTSUPP;  // the device cannot halt waves at launch
  }
  if (wanted != normal) {
    return -EINVAL;
  }
  int result = 0;
  for (const auto& device : target.devices) {
    if ((result = device->node.dqm->refresh())) {
      break;
    }
  }
  return result;
}

// No exception of the floating point unit traps, so no override is supported.
int debug_set_launch_override(Process& target, abi::DbgLaunchOverrideArgs& args) {
  enum { mode_or = 0, mode_replace = 1 };  // KFD_DBG_TRAP_OVERRIDE_*
  const u32 requested = args.support_request_mask;
  args.support_request_mask = 0;
  if (args.override_mode != mode_or && args.override_mode != mode_replace) {
    return -EPERM;
  }
  if (requested) {
    return -EACCES;
  }
  args.enable_mask = 0;
  return debug_set_launch_mode(target, 0);
}

int debug_set_flags(Process& target, u32& flags) {
  // Single-stepping of memory and ALU operations: no such capability.
  if (flags & 3) {
    flags = 0;
    return -EACCES;
  }
  flags = 0;
  return debug_set_launch_mode(target, 0);
}

}  // namespace vgpu::driver
