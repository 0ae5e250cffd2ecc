// Allocation and mapping of GPU memory (kfd_chardev.c:1026-1490, amdgpu_amdkfd_gpuvm.c).
#include "driver/memory/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>

#include "driver/handlers.h"
#include "driver/queues/doorbells.h"

namespace vgpu::driver {
namespace {

constexpr u64 kVramAlignment = 2u << 20;  // VRAM_AVAILABLITY_ALIGN

// The ranges of the page table that an allocation takes: AQL_QUEUE_MEM shows the same memory twice,
// one copy behind the other, for packet processors that do not wrap.
struct Piece {
  u64 va, size;
};
std::vector<Piece> pieces(const Allocation& allocation) {
  if (!(allocation.flags & abi::alloc_aql_queue_mem)) {
    return {{allocation.va, allocation.size}};
  }
  const u64 half = allocation.size / 2;
  return {{allocation.va, half}, {allocation.va + half, half}};
}

bool overlaps(const ProcessDevice& device, u64 va, u64 size) {
  auto next = device.va_ranges.lower_bound(va);
  if (next != device.va_ranges.end() && next->first < va + size) {
    return true;
  }
  return next != device.va_ranges.begin() && (--next)->first + next->second.size > va;
}

bool is_mapped(const Allocation& allocation, const ProcessDevice* device) {
  return std::find(allocation.mapped.begin(), allocation.mapped.end(), device) !=
         allocation.mapped.end();
}

void clear_entries(ProcessDevice& device, const Allocation& allocation) {
  for (const Piece& piece : pieces(allocation)) {
    device.vmid->memory.unmap(piece.va, piece.size);
    device.va_ranges.erase(piece.va);
  }
  if (allocation.flags & abi::alloc_executable) {
    device.vmid->code.invalidate();
  }
}

// The device ids of a map or unmap call.
int read_devices(const Call& call, const abi::MapMemoryArgs& args, std::vector<u32>& ids) {
  constexpr u32 kLimit = 1024;
  if (args.n_devices == 0 || args.n_success > args.n_devices) {
    return -EINVAL;
  }
  if (args.n_devices > kLimit) {
    return -ENOMEM;
  }
  ids.resize(args.n_devices);
  return call.caller.memory->read(args.device_ids_array_ptr, ids.data(), ids.size() * sizeof(u32))
             ? 0
             : -EFAULT;
}

// The memory behind an allocation of each kind, or null and *error.
BufferPtr make_buffer(Call& call, ProcessDevice& device, const abi::AllocMemoryArgs& args,
                      int* error) {
  Module& module = call.module;
  const u64 bytes = args.flags & abi::alloc_aql_queue_mem ? args.size / 2 : args.size;
  *error = -ENOMEM;
  if (args.flags & abi::alloc_vram) {
    return module.pool->allocate(static_cast<int>(device.node.index), bytes);
  }
  if (args.flags & abi::alloc_gtt) {
    return module.pool->allocate(MemoryPool::kSystem, bytes);
  }
  if (args.flags & abi::alloc_userptr) {
    if (args.mmap_offset == 0 || args.mmap_offset % kPageSize != 0) {
      *error = -EINVAL;
      return nullptr;
    }
    if (!call.caller.passed_fd) {
      return module.pool->allocate(MemoryPool::kSystem, bytes);
    }
    BufferPtr buffer = module.pool->adopt(call.caller.passed_fd.get(), args.mmap_offset, bytes);
    *error = buffer ? 0 : -errno;
    return buffer;
  }
  if (args.flags & abi::alloc_doorbell && args.size == kDoorbellBytes) {
    return doorbell_buffer(module, device);
  }
  if (args.flags & abi::alloc_mmio_remap && args.size == kPageSize) {
    return mmio_buffer(device);
  }
  *error = -EINVAL;
  return nullptr;
}

}  // namespace

Allocation* find_allocation(Process& process, u64 handle) {
  ProcessDevice* device = process.find_device(handle_gpu_id(handle));
  if (!device) {
    return nullptr;
  }
  const auto found = device->allocations.find(handle_index(handle));
  return found == device->allocations.end() ? nullptr : &found->second;
}

u64 add_allocation(ProcessDevice& device, Allocation allocation) {
  u32 index = 0;  // the lowest free one, as idr_alloc gives
  for (const auto& [used, other] : device.allocations) {
    if (used != index) {
      break;
    }
    ++index;
  }
  device.vram_usage += allocation.vram_bytes;
  device.allocations.emplace(index, std::move(allocation));
  return make_handle(device.node.gpu_id, index);
}

int map_allocation(ProcessDevice& device, Allocation& allocation) {
  if (is_mapped(allocation, &device)) {
    return 0;
  }
  const u64 end = allocation.va + allocation.size;
  if (allocation.va == 0 || allocation.va % kPageSize || allocation.size % kPageSize ||
      end > u64{1} << kVaBits || end < allocation.va ||
      overlaps(device, allocation.va, allocation.size)) {
    return -EINVAL;
  }
  u64 rights = 0;
  rights |= allocation.flags & abi::alloc_writable ? u64{page_write} : 0;
  rights |= allocation.flags & abi::alloc_executable ? u64{page_exec} : 0;
  for (const Piece& piece : pieces(allocation)) {
    device.vmid->memory.map(piece.va, piece.size, allocation.buffer->host, rights);
    device.va_ranges[piece.va] = {piece.size, 0};
  }
  allocation.mapped.push_back(&device);
  return 0;
}

int acquire_queue_buffer(ProcessDevice& device, u64 va, u64 size) {
  const auto range = device.va_ranges.find(va & ~(kPageSize - 1));
  if (range == device.va_ranges.end() || (size != 0 && range->second.size != size)) {
    return -EINVAL;
  }
  ++range->second.queue_refcount;
  return 0;
}

void release_queue_buffer(ProcessDevice& device, u64 va) {
  const auto range = device.va_ranges.find(va & ~(kPageSize - 1));
  if (range != device.va_ranges.end() && range->second.queue_refcount > 0) {
    --range->second.queue_refcount;
  }
}

void release_all_memory(ProcessDevice& device) {
  for (auto& [index, allocation] : device.allocations) {
    for (ProcessDevice* shown_on : allocation.mapped) {
      clear_entries(*shown_on, allocation);
    }
  }
  // The memory may go only when no worker can still use an old translation.
  for (const auto& each : device.process.devices) {
    each->node.gpu->quiesce();
  }
  device.allocations.clear();
  device.vram_usage = 0;
}

// ---- ioctls ----

int acquire_vm(Call& call, abi::AcquireVmArgs& args) {
  // The file is checked if it came along with the call.
  if (call.caller.passed_fd && !call.module.pool->contains(call.caller.passed_fd.get())) {
    return -EINVAL;
  }
  const std::lock_guard lock(call.process.mutex);
  ProcessDevice* device = call.process.find_device(args.gpu_id);
  if (!device) {
    return -EINVAL;
  }
  const std::lock_guard dqm_lock(device->node.dqm->mutex());
  device->vm_acquired = true;
  return 0;
}

int alloc_memory(Call& call, abi::AllocMemoryArgs& args) {
  if (args.size == 0) {
    return -EINVAL;
  }
  const std::lock_guard lock(call.process.mutex);
  if (!call.process.find_device(args.gpu_id)) {
    return -EINVAL;
  }
  ProcessDevice* device = call.process.find_bound_device(args.gpu_id);
  if (!device) {
    return -ENODEV;
  }
  Allocation allocation;
  int error = 0;
  allocation.buffer = make_buffer(call, *device, args, &error);
  if (!allocation.buffer) {
    return error;
  }
  const u64 copies = args.flags & abi::alloc_aql_queue_mem ? 2 : 1;
  allocation.va = args.va_addr;
  allocation.size = allocation.buffer->size * copies;
  allocation.flags = args.flags;
  allocation.vram_bytes = args.flags & abi::alloc_vram ? allocation.buffer->size : 0;
  args.mmap_offset = allocation.buffer->offset;
  args.handle = add_allocation(*device, std::move(allocation));
  return 0;
}

int free_memory(Call& call, abi::FreeMemoryArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  if (call.process.event_page_handle && call.process.event_page_handle == args.handle) {
    return -EPERM;  // the event page is the driver's until the process ends
  }
  Allocation* allocation = find_allocation(call.process, args.handle);
  if (!allocation) {
    return -EINVAL;
  }
  if (!allocation->mapped.empty()) {
    return -EBUSY;
  }
  ProcessDevice* device = call.process.find_device(handle_gpu_id(args.handle));
  device->vram_usage -= allocation->vram_bytes;
  device->allocations.erase(handle_index(args.handle));
  return 0;
}

namespace {

// Does `step` for each GPU that is named and was not done by an earlier call, until one fails.
// n_success says how far it came. With the process's lock held.
template <class Step>
int for_each_device(Process& process, abi::MapMemoryArgs& args, const std::vector<u32>& ids,
                    const Step& step) {
  if (!process.find_device(handle_gpu_id(args.handle))) {
    return -EINVAL;
  }
  Allocation* allocation = find_allocation(process, args.handle);
  if (!allocation) {
    return -ENOMEM;
  }
  for (u32 i = args.n_success; i < args.n_devices; ++i) {
    ProcessDevice* peer = process.find_device(ids[i]);
    if (!peer) {
      return -EINVAL;
    }
    if (const int error = step(*peer, *allocation)) {
      return error;
    }
    args.n_success = i + 1;
  }
  return 0;
}

}  // namespace

int map_memory(Call& call, abi::MapMemoryArgs& args) {
  std::vector<u32> ids;
  if (const int error = read_devices(call, args, ids)) {
    return error;
  }
  const std::lock_guard lock(call.process.mutex);
  return for_each_device(call.process, args, ids, [&](ProcessDevice& peer, Allocation& allocation) {
    ProcessDevice* bound = call.process.find_bound_device(peer.node.gpu_id);
    return bound ? map_allocation(*bound, allocation) : -ENODEV;
  });
}

int unmap_memory(Call& call, abi::MapMemoryArgs& args) {
  std::vector<u32> ids;
  if (const int error = read_devices(call, args, ids)) {
    return error;
  }
  const std::lock_guard lock(call.process.mutex);
  std::vector<ProcessDevice*> flush;
  const auto unmap_from = [&](ProcessDevice& peer, Allocation& allocation) {
    if (!is_mapped(allocation, &peer)) {
      return 0;
    }
    const auto range = peer.va_ranges.find(allocation.va);
    if (range != peer.va_ranges.end() && range->second.queue_refcount > 0) {
      return -EBUSY;  // a queue needs it (amdgpu_amdkfd_gpuvm.c:1249)
    }
    clear_entries(peer, allocation);
    std::erase(allocation.mapped, &peer);
    flush.push_back(&peer);
    return 0;
  };
  const int error = for_each_device(call.process, args, ids, unmap_from);
  // The TLB flush: nobody uses the old translation once the call returns.
  for (ProcessDevice* device : flush) {
    device->node.gpu->quiesce();
  }
  return error;
}

int available_memory(Call& call, abi::GetAvailableMemoryArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  const ProcessDevice* device = call.process.find_device(args.gpu_id);
  if (!device) {
    return -EINVAL;
  }
  const int region = static_cast<int>(device->node.index);
  const u64 free = call.module.pool->capacity(region) - call.module.pool->used(region);
  args.available = free / kVramAlignment * kVramAlignment;
  return 0;
}

}  // namespace vgpu::driver
