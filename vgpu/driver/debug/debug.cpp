// Debug sessions (kfd_debug.c).
#include "driver/debug/debug.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "driver/queues/queues.h"

namespace vgpu::driver {
namespace {

// Wakes the debugger. The kernel's write may block in a full pipe; here the byte is dropped, since
// bytes already wait there to be read.
void notify_debugger(const Process& process) {
  pollfd poll_fd{process.debug_file.get(), POLLOUT, 0};
  if (process.debug_file && poll(&poll_fd, 1, 0) == 1 && poll_fd.revents == POLLOUT) {
    [[maybe_unused]] const ssize_t written = write(process.debug_file.get(), ".", 1);
  }
}

void note_queue_exception(Process& process, u64 mask, const ExceptionSource& source) {
  const bool by_id = mask & abi::ec_mask(abi::ec_queue_new);
  for (const QueuePtr& queue : process.queues) {
    const u32 target = by_id ? queue->id : queue->doorbell_slot;
    if (&queue->device->node == source.node && target == source.id) {
      queue->exception_status |= mask;
      return;
    }
  }
}

void note_device_exception(Process& process, u64 mask, const ExceptionSource& source) {
  for (const auto& device : process.devices) {
    if (&device->node != source.node) {
      continue;
    }
    device->exception_status |= mask & abi::kEcMaskDevice;
    if (source.fault && !device->fault_data) {
      device->fault_data = *source.fault;
    }
  }
}

void clean_exceptions(Process& target) {
  const std::lock_guard lock(target.event_mutex);
  for (const auto& device : target.devices) {
    device->exception_status = 0;
  }
  for (const QueuePtr& queue : target.queues) {
    queue->exception_status = 0;
  }
  target.exception_status = 0;
}

// kfd_send_exception_to_runtime: the reason goes where the save area's header says, and the event
// named there fires.
void send_to_runtime(Process& process, const Queue& queue, u64 reasons) {
  const PageTable& memory = queue.device->vmid->memory;
  abi::ContextSaveAreaHeader header = {};
  u64 current = 0;
  if (!memory.read(queue.ctx_save_address, &header, sizeof(header)) ||
      !memory.read(header.err_payload_addr, &current, sizeof(current))) {
    return;
  }
  current |= reasons;
  memory.write(header.err_payload_addr, &current, sizeof(current));
  process.events.set(header.err_event_id);
}

void fault_to_runtime(Process& process, ProcessDevice& device,
                      const abi::MemoryExceptionData& data) {
  device.node.dqm->evict(device);
  process.events.signal_memory_exception(data);
}

}  // namespace

// ---- exceptions ----

bool raise_exception(Process& process, u64 mask, const ExceptionSource& source) {
  const std::lock_guard lock(process.event_mutex);
  if (!process.debug_file) {
    return false;  // no debug session
  }
  if (mask & abi::kEcMaskDevice) {
    note_device_exception(process, mask, source);
  } else if (mask & abi::kEcMaskProcess) {
    process.exception_status |= mask & abi::kEcMaskProcess;
  } else {
    note_queue_exception(process, mask, source);
  }
  if (!(process.exception_enable_mask & mask)) {
    return false;
  }
  notify_debugger(process);
  return true;
}

void exception_from_interrupt(Process& process, Node& node, u64 mask, u32 doorbell_slot,
                              const abi::MemoryExceptionData* fault) {
  if (raise_exception(process, mask, {&node, doorbell_slot, fault})) {
    return;
  }
  const std::lock_guard lock(process.mutex);
  if (fault) {
    if (ProcessDevice* device = process.find_device(node.gpu_id)) {
      fault_to_runtime(process, *device, *fault);
    }
    return;
  }
  if (process.runtime.runtime_state != abi::runtime_enabled) {
    return;
  }
  for (const QueuePtr& queue : process.queues) {
    if (&queue->device->node == &node && queue->doorbell_slot == doorbell_slot) {
      send_to_runtime(process, *queue, mask);
      return;
    }
  }
}

int debug_send_runtime_event(Process& target, const abi::DbgSendRuntimeEventArgs& args) {
  u64 reasons = args.exception_mask;
  if (reasons & abi::ec_mask(abi::ec_device_memory_violation)) {
    ProcessDevice* device = target.find_device(args.gpu_id);
    if (!device) {
      return -ENODEV;
    }
    abi::MemoryExceptionData data = {};
    {
      const std::lock_guard lock(target.event_mutex);
      data = device->fault_data.value_or(data);
    }
    fault_to_runtime(target, *device, data);
    reasons &= ~abi::ec_mask(abi::ec_device_memory_violation);
  }
  if (reasons & abi::ec_mask(abi::ec_process_runtime)) {
    ++target.runtime_semaphore;
    target.runtime_wake.notify_one();
    reasons &= ~abi::ec_mask(abi::ec_process_runtime);
  }
  if (reasons) {
    if (const QueuePtr queue = target.find_queue(args.queue_id)) {
      send_to_runtime(target, *queue, reasons);
    }
  }
  return 0;
}

void debug_set_exceptions(Process& target, u64 mask) {
  const std::lock_guard lock(target.event_mutex);
  u64 raised = target.exception_status;
  for (const QueuePtr& queue : target.queues) {
    raised |= queue->exception_status;
  }
  for (const auto& device : target.devices) {
    raised |= device->exception_status;
  }
  if (mask & raised) {
    notify_debugger(target);
  }
  target.exception_enable_mask = mask;
}

// ---- the session ----

void resume_all_queues(Process& process) {
  for (const auto& device : process.devices) {
    device->node.dqm->resume(*device, {}, true);
  }
}

void debug_deactivate(Process& target) {
  resume_all_queues(target);
  for (const auto& device : target.devices) {
    if (device->holds_debug_vmid) {
      device->node.dqm->release_debug_vmid();
      device->holds_debug_vmid = false;
    }
    device->node.dqm->refresh();
  }
}

int debug_activate(Process& target) {
  for (const auto& device : target.devices) {
    int error = 0;
    if (!device->node.profile->per_vmid_debug) {
      error = device->node.dqm->reserve_debug_vmid();
      device->holds_debug_vmid = error == 0;
      target.runtime.runtime_state = error == 0 ? target.runtime.runtime_state
                                                : u32{error == -EBUSY ? abi::runtime_enabled_busy
                                                                      : abi::runtime_enabled_error};
    }
    if (error == 0 && (error = device->node.dqm->refresh())) {
      target.runtime.runtime_state = abi::runtime_enabled_error;
    }
    if (error) {
      // All or nothing: give back what the devices before it gave.
      for (const auto& done : target.devices) {
        if (done->holds_debug_vmid) {
          done->node.dqm->release_debug_vmid();
          done->holds_debug_vmid = false;
        }
      }
      return error;
    }
  }
  return 0;
}

int debug_enable(Call& call, Process& target, abi::DbgEnableArgs& args) {
  if (target.debug_trap_enabled) {
    return -EALREADY;
  }
  if (!call.caller.passed_fd) {
    return -EBADF;
  }
  {
    const std::lock_guard lock(target.event_mutex);
    target.debug_file = std::move(call.caller.passed_fd);
  }
  // Whether activation worked is told by runtime_state alone.
  if (target.runtime.runtime_state == abi::runtime_enabled) {
    debug_activate(target);
  }
  target.debug_trap_enabled = true;

  const u32 bytes = std::min<u32>(args.rinfo_size, sizeof(target.runtime));
  args.rinfo_size = sizeof(target.runtime);
  if (bytes && !call.caller.memory->write(args.rinfo_ptr, &target.runtime, bytes)) {
    debug_deactivate(target);
    return -EFAULT;
  }
  return 0;
}

int debug_disable(Process& target) {
  if (!target.debug_trap_enabled) {
    return 0;
  }
  if (target.runtime.runtime_state == abi::runtime_enabled) {
    debug_deactivate(target);
  } else if (target.runtime.runtime_state != abi::runtime_disabled) {
    target.runtime.runtime_state = abi::runtime_enabled;  // a later session may try again
  }
  {
    const std::lock_guard lock(target.event_mutex);
    target.debug_file.reset();
  }
  target.debugger.reset();
  target.debug_trap_enabled = false;
  clean_exceptions(target);
  return 0;
}

}  // namespace vgpu::driver
