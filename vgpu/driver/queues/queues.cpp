// The queue ioctls (kfd_chardev.c:180-530, kfd_process_queue_manager.c, kfd_queue.c).
#include "driver/queues/queues.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "driver/debug/debug.h"
#include "driver/handlers.h"
#include "driver/memory/memory.h"
#include "driver/queues/doorbells.h"

namespace vgpu::driver {
namespace {

constexpr int kErrorNotSupported = 524;  // the kernel's own ENOTSUPP, which leaks to user space
constexpr u32 kMaxQueuesPerProcessDevice = 127;  // HWS limit, except on GC 9.4.3
constexpr u64 kUserAddressLimit = (u64{1} << 47) - kPageSize;

bool access_ok(u64 address) { return address < kUserAddressLimit; }

// The checks both CREATE_QUEUE and UPDATE_QUEUE make.
int check_ring(u64 base, u32& size, u32 percentage, u32 priority) {
  if ((percentage & 0xff) > abi::kMaxQueuePercentage || priority > abi::kMaxQueuePriority) {
    return -EINVAL;
  }
  if (base && !access_ok(base)) {
    return -EFAULT;
  }
  if (size != 0 && !std::has_single_bit(size)) {
    return -EINVAL;
  }
  size = std::max(size, abi::kMinRingSize);
  return 0;
}

int check_create(const Module& module, abi::CreateQueueArgs& args) {
  if (const int error = check_ring(args.ring_base_address, args.ring_size, args.queue_percentage,
                                   args.queue_priority)) {
    return error;
  }
  for (const u64 address : {args.read_pointer_address, args.write_pointer_address,
                            args.eop_buffer_address, args.ctx_save_restore_address}) {
    if (!access_ok(address)) {
      return -EFAULT;
    }
  }
  const u32 last_type =
      module.kfd_minor() >= 17 ? abi::queue_type_sdma_by_engine : abi::queue_type_sdma_xgmi;
  return args.queue_type > last_type ? -kErrorNotSupported : 0;
}

// The memory a queue works with, as CREATE_QUEUE demands it to be mapped
// (kfd_queue_acquire_buffers; not in a 6.1 kernel).
struct NeededBuffer {
  u64 va, size;
};
std::vector<NeededBuffer> needed_buffers(const Node& node, const Queue& queue) {
  std::vector<NeededBuffer> needed = {{queue.write_ptr, kPageSize},
                                      {queue.read_ptr, kPageSize},
                                      {queue.held_ring, queue.ring_size}};
  const auto page_align = [](u64 size) { return (size + kPageSize - 1) & ~(kPageSize - 1); };
  if (queue.is_compute()) {
    if (queue.eop_address) {
      needed.push_back({queue.eop_address, page_align(queue.eop_size)});
    }
    needed.push_back(
        {queue.ctx_save_address, page_align(u64{queue.ctx_save_size} + node.save_area.debug)});
  }
  return needed;
}

void release_buffers(ProcessDevice& device, const Queue& queue) {
  for (const NeededBuffer& buffer : needed_buffers(device.node, queue)) {
    release_queue_buffer(device, buffer.va);
  }
}

int acquire_buffers(ProcessDevice& device, const Queue& queue) {
  constexpr u64 kEopBufferSize = 4096;
  const Node& node = device.node;
  if (queue.is_compute() && ((queue.eop_address && queue.eop_size < kEopBufferSize) ||
                             queue.ctl_stack_size != node.save_area.ctl_stack ||
                             queue.ctx_save_size < node.save_area.cwsr)) {
    return -EINVAL;
  }
  const std::vector<NeededBuffer> needed = needed_buffers(node, queue);
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (const int error = acquire_queue_buffer(device, needed[i].va, needed[i].size)) {
      while (i-- > 0) {
        release_queue_buffer(device, needed[i].va);
      }
      return error;
    }
  }
  return 0;
}

QueuePtr make_queue(ProcessDevice& device, const abi::CreateQueueArgs& args) {
  auto queue = std::make_shared<Queue>();
  queue->ioc_type = args.queue_type;
  queue->device = &device;
  queue->read_ptr = args.read_pointer_address;
  queue->write_ptr = args.write_pointer_address;
  queue->eop_address = args.eop_buffer_address;
  queue->eop_size = args.eop_buffer_size;
  queue->ctx_save_address = args.ctx_save_restore_address;
  queue->ctx_save_size = args.ctx_save_restore_size;
  queue->ctl_stack_size = args.ctl_stack_size;
  queue->sdma_engine = args.sdma_engine_id;
  queue->ring_base = queue->held_ring = args.ring_base_address;
  queue->ring_size = args.ring_size;
  queue->percent = args.queue_percentage & 0xff;
  queue->priority = args.queue_priority;
  queue->exception_status = abi::ec_mask(abi::ec_queue_new);
  return queue;
}

device::QueueType device_type(u32 ioc_type) {
  switch (ioc_type) {
    case abi::queue_type_compute: return device::QueueType::compute_pm4;
    case abi::queue_type_compute_aql: return device::QueueType::compute_aql;
    case abi::queue_type_sdma_xgmi: return device::QueueType::sdma_xgmi;
    default: return device::QueueType::sdma;
  }
}

device::MqdPtr make_mqd(ProcessDevice& device, const Queue& queue) {
  device::QueueProperties properties;
  properties.type = device_type(queue.ioc_type);
  properties.ring_base = queue.ring_base;
  properties.ring_size = queue.ring_size;
  properties.rptr_addr = queue.read_ptr;
  properties.wptr_addr = queue.write_ptr;
  properties.priority = queue.priority;
  properties.eop_addr = queue.eop_address;
  properties.save_area = queue.ctx_save_address;
  properties.save_area_size = queue.ctx_save_size;
  properties.ctl_stack_size = queue.ctl_stack_size;
  return std::make_shared<device::Mqd>(device.vmid, std::move(properties),
                                       device::Doorbell{device.doorbells, queue.doorbell_slot});
}

// Memory is there when it is first touched. For the save area that would be in the middle of a
// stop, at 3 us per page: 2.5 ms more for 3.3 MB. Failure (before Linux 5.14) only costs that time.
// Not for queue after queue: an area is 5 MB and more, and few programs use many queues at once.
constexpr std::size_t kPopulatedQueues = 16;
constexpr int kPopulateWrite = 23;  // MADV_POPULATE_WRITE, Linux 5.14: headers may be older
void populate_save_area(const PageTable& memory, const Queue& queue) {
  const u64 end = queue.ctx_save_address + queue.ctx_save_size;
  for (u64 va = queue.ctx_save_address; va < end;) {
    const u64 leaf_end = std::min(memory.leaf(va).end, end);
    u8* host = memory.translate(va, page_write);
    if (!host || ::madvise(host, leaf_end - va, kPopulateWrite) != 0) {
      return;
    }
    va = leaf_end;
  }
}

// pqm_create_queue: an id, a doorbell, an MQD, and then the device queue manager.
int add_queue(Module& module, ProcessDevice& device, const QueuePtr& queue) {
  Process& process = device.process;
  if (device.queues.size() >= kMaxQueuesPerProcessDevice) {
    return -ENOSPC;
  }
  u32 id = 0;
  while (id < process.queue_slots.size() && process.queue_slots[id]) {
    ++id;
  }
  if (id == process.queue_slots.size()) {
    return -ENOMEM;
  }
  if (const int error = allocate_doorbell(module, device, &queue->doorbell_slot)) {
    return error;
  }
  queue->id = id;
  queue->mqd_address = module.next_mqd_address.fetch_add(
      kPageSize + (queue->ctl_stack_size + kPageSize - 1) / kPageSize * kPageSize);
  queue->mqd = make_mqd(device, *queue);
  if (device.queues.size() < kPopulatedQueues) {
    populate_save_area(device.vmid->memory, *queue);
  }
  if (const int error = device.node.dqm->create_queue(queue)) {
    free_doorbell(device, queue->doorbell_slot);
    return error;
  }
  process.link_queue(queue);
  module.sysfs->add_queue(process.pid, id);
  return 0;
}

}  // namespace

int create_queue(Call& call, abi::CreateQueueArgs& args) {
  if (const int error = check_create(call.module, args)) {
    return error;
  }
  Process& process = call.process;
  QueuePtr queue;
  {
    const std::lock_guard lock(process.mutex);
    if (!process.find_device(args.gpu_id)) {
      return -EINVAL;
    }
    ProcessDevice* device = process.find_bound_device(args.gpu_id);
    if (!device) {
      return -ESRCH;
    }
    if (args.queue_type == abi::queue_type_sdma_by_engine &&
        args.sdma_engine_id >= device->node.profile->sdma_engines) {
      return -EINVAL;
    }
    if (const int error = ensure_doorbells(call.module, *device)) {
      return error;
    }
    queue = make_queue(*device, args);
    const bool check_buffers = call.module.has_debugger();
    if (check_buffers) {
      if (const int error = acquire_buffers(*device, *queue)) {
        return error;
      }
    }
    if (const int error = add_queue(call.module, *device, queue)) {
      if (check_buffers) {
        release_buffers(*device, *queue);
      }
      return error;
    }
    args.queue_id = queue->id;
    args.doorbell_offset = doorbell_token(device->node.index) | queue->doorbell_slot * sizeof(u64);
  }
  raise_exception(process, abi::ec_mask(abi::ec_queue_new),
                  {&queue->device->node, queue->id, nullptr});
  return 0;
}

int destroy_queue(Call& call, abi::DestroyQueueArgs& args) {
  Process& process = call.process;
  std::unique_lock lock(process.mutex);
  const QueuePtr queue = process.find_queue(args.queue_id);
  if (!queue) {
    return -EINVAL;
  }
  ProcessDevice& device = *queue->device;
  release_buffers(device, *queue);
  const int error = device.node.dqm->destroy_queue(queue, lock);
  if (error && error != -ETIME && error != -EIO) {
    return error;
  }
  raise_exception(process, abi::ec_mask(abi::ec_device_queue_delete), {&device.node, 0, nullptr});
  free_doorbell(device, queue->doorbell_slot);
  if (queue->wants_gws) {
    device.num_gws = 0;
  }
  process.unlink_queue(queue);
  call.module.sysfs->remove_queue(process.pid, queue->id);
  return error;
}

int update_queue(Call& call, abi::UpdateQueueArgs& args) {
  if (const int error = check_ring(args.ring_base_address, args.ring_size, args.queue_percentage,
                                   args.queue_priority)) {
    return error;
  }
  const std::lock_guard lock(call.process.mutex);
  const QueuePtr queue = call.process.find_queue(args.queue_id);
  if (!queue) {
    return -EFAULT;
  }
  ProcessDevice& device = *queue->device;
  // The ring must be mapped just so; a ring address of 0 disables the queue. A 6.1 kernel does not
  // look.
  if (args.ring_base_address && call.module.has_debugger()) {
    if (acquire_queue_buffer(device, args.ring_base_address, args.ring_size)) {
      return -EFAULT;
    }
    release_queue_buffer(device, queue->held_ring);
    queue->held_ring = args.ring_base_address;
  }
  return device.node.dqm->update_queue(*queue, [&] {
    queue->ring_base = args.ring_base_address;
    queue->ring_size = args.ring_size;
    queue->percent = args.queue_percentage & 0xff;
    queue->priority = args.queue_priority;
  });
}

int set_cu_mask(Call& call, abi::SetCuMaskArgs& args) {
  constexpr u32 kMaxCus = 1024;
  if (args.num_cu_mask % 32 != 0 || args.num_cu_mask == 0) {
    return -EINVAL;
  }
  std::vector<u32> mask(std::min(args.num_cu_mask, kMaxCus) / 32);
  if (!call.caller.memory->read(args.cu_mask_ptr, mask.data(), mask.size() * sizeof(u32))) {
    return -EFAULT;
  }
  const std::lock_guard lock(call.process.mutex);
  const QueuePtr queue = call.process.find_queue(args.queue_id);
  if (!queue) {
    return -EFAULT;
  }
  return queue->device->node.dqm->update_queue(*queue, [&] { queue->cu_mask = std::move(mask); });
}

WaveState wave_state(const Queue& queue) {
  const device::SaveInfo info = queue.device->node.gpu->save_info(*queue.mqd);
  return {info.ctl_stack_used, info.save_area_used};
}

SaveAreaWaveState save_area_header(const Queue& queue) {
  const WaveState state = wave_state(queue);
  return {
      .control_stack_offset = queue.ctl_stack_size - state.ctl_stack_used,
      .control_stack_size = state.ctl_stack_used,
      .wave_state_offset = queue.ctl_stack_size + state.save_area_used,
      .wave_state_size = state.save_area_used,
  };
}

int get_queue_wave_state(Call& call, abi::GetQueueWaveStateArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  const QueuePtr queue = call.process.find_queue(args.queue_id);
  if (!queue) {
    return -EFAULT;
  }
  {
    const std::lock_guard dqm_lock(queue->device->node.dqm->mutex());
    if (!queue->is_compute() || queue->is_active) {
      return -EINVAL;
    }
  }
  const SaveAreaWaveState header = save_area_header(*queue);
  args.ctl_stack_used_size = header.control_stack_size;
  args.save_area_used_size = header.wave_state_size;
  // The control stack goes where the caller wants it; the device wrote it into the save area.
  std::vector<u8> stack(header.control_stack_size);
  UserMemory& user = *call.caller.memory;
  const u64 at = header.control_stack_offset;
  if (!user.write(args.ctl_stack_address, &header, sizeof(header)) ||
      !queue->device->vmid->memory.read(queue->ctx_save_address + at, stack.data(), stack.size()) ||
      (!stack.empty() && !user.write(args.ctl_stack_address + at, stack.data(), stack.size()))) {
    return -EFAULT;
  }
  return 0;
}

int alloc_queue_gws(Call& call, abi::AllocQueueGwsArgs& args) {
  constexpr u32 kGwsUnits = 64;
  const std::lock_guard lock(call.process.mutex);
  const QueuePtr queue = call.process.find_queue(args.queue_id);
  if (!queue) {
    return -EINVAL;
  }
  ProcessDevice& device = *queue->device;
  const bool wanted = args.num_gws != 0;
  if (wanted && device.num_gws) {
    return -EBUSY;  // one queue per process
  }
  if (!wanted && device.num_gws == 0) {
    return -EINVAL;
  }
  device.num_gws = wanted ? kGwsUnits : 0;
  args.first_gws = 0;
  return device.node.dqm->update_queue(*queue, [&] { queue->wants_gws = wanted; });
}

int evict_process(Process& process, u32 trigger) {
  for (std::size_t i = 0; i < process.devices.size(); ++i) {
    ProcessDevice& device = *process.devices[i];
    device.node.smi.queue_eviction(process.pid, device.node.gpu_id, trigger);
    const int error = device.node.dqm->evict(device);
    // Like the driver, a GPU in reset (-EIO) counts as evicted; any other failure is undone.
    if (error && error != -EIO) {
      for (std::size_t j = 0; j <= i; ++j) {
        process.devices[j]->node.smi.queue_restore(process.pid, process.devices[j]->node.gpu_id);
        process.devices[j]->node.dqm->restore(*process.devices[j]);
      }
      return error;
    }
  }
  return 0;
}

int restore_process(Process& process) {
  int result = 0;
  for (const auto& device : process.devices) {
    device->node.smi.queue_restore(process.pid, device->node.gpu_id);
    const int error = device->node.dqm->restore(*device);
    result = result ? result : error;
  }
  return result;
}

}  // namespace vgpu::driver
