#include "driver/queues/doorbells.h"

#include <sys/mman.h>

#include <cerrno>

namespace vgpu::driver {
namespace {

// A shared mapping of part of the process's kfd file, unmapped with the last reference.
std::shared_ptr<void> map_kfd_file(const ProcessDevice& device, u64 offset, u64 size) {
  void* host = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED,
                    device.process.kfd_file.get(), static_cast<off_t>(offset));
  if (host == MAP_FAILED) {
    return nullptr;
  }
  return {host, [size](void* address) { munmap(address, size); }};
}

BufferPtr wrap(std::shared_ptr<void> memory, u64 offset, u64 size) {
  if (!memory) {
    return nullptr;
  }
  auto buffer = std::make_shared<Buffer>();
  buffer->host = static_cast<u8*>(memory.get());
  buffer->size = size;
  buffer->offset = offset;
  buffer->keeps_alive = std::move(memory);
  return buffer;
}

}  // namespace

int ensure_doorbells(Module& module, ProcessDevice& device) {
  if (device.doorbells) {
    return 0;
  }
  const auto memory = map_kfd_file(device, doorbell_token(device.node.index), kDoorbellBytes);
  if (!memory) {
    return -ENOMEM;
  }
  // The page object keeps the mapping: the device may look at a slot until it drops its queue.
  auto* page =
      new device::DoorbellPage(static_cast<std::atomic<u64>*>(memory.get()), kDoorbellBytes);
  device.doorbells = {page, [memory](device::DoorbellPage* p) { delete p; }};
  module.doorbells->add(device.doorbells);
  return 0;
}

BufferPtr doorbell_buffer(Module& module, ProcessDevice& device) {
  if (ensure_doorbells(module, device) != 0) {
    return nullptr;
  }
  const u64 offset = doorbell_token(device.node.index);
  return wrap(map_kfd_file(device, offset, kDoorbellBytes), offset, kDoorbellBytes);
}

BufferPtr mmio_buffer(ProcessDevice& device) {
  const u64 offset = mmio_token(device.node.index);
  return wrap(map_kfd_file(device, offset, kPageSize), offset, kPageSize);
}

int allocate_doorbell(Module& module, ProcessDevice& device, u32* slot) {
  for (u32 i = 0; i < device.doorbell_slots.size(); ++i) {
    if (!device.doorbell_slots[i]) {
      device.doorbell_slots[i] = true;
      module.doorbells->reset_slot(*device.doorbells, i);
      *slot = i;
      return 0;
    }
  }
  return -ENOSPC;
}

void free_doorbell(ProcessDevice& device, u32 slot) { device.doorbell_slots[slot] = false; }

u32 doorbell_dword_offset(const ProcessDevice& device, u32 slot) {
  // Each process has its own slice of the BAR; slices follow the pasid.
  const u32 slice = device.process.pasid & 0x7fff;
  return slice * static_cast<u32>(kDoorbellBytes / sizeof(u32)) + slot * 2;
}

void release_doorbells(Module& module, ProcessDevice& device) {
  if (device.doorbells) {
    module.doorbells->remove(*device.doorbells);
    device.doorbells.reset();
  }
}

}  // namespace vgpu::driver
