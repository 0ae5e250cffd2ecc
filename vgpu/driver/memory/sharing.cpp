// Sharing memory between processes: IPC handles of AMD's DKMS driver, and dma-buf, which the
// virtual GPU does not have.
#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "driver/handlers.h"
#include "driver/memory/memory.h"

namespace vgpu::driver {

// No file can be a dma-buf here: dma_buf_get() answers EINVAL for any other file.
int get_dmabuf_info(Call&, abi::GetDmabufInfoArgs&) { return -EINVAL; }

int import_dmabuf(Call& call, abi::ImportDmabufArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  if (!call.process.find_device(args.gpu_id)) {
    return -EINVAL;
  }
  return call.process.find_bound_device(args.gpu_id) ? -EINVAL : -ENODEV;
}

int export_dmabuf(Call& call, abi::ExportDmabufArgs& args) {
  const std::lock_guard lock(call.process.mutex);
  return find_allocation(call.process, args.handle) ? -EOPNOTSUPP : -EINVAL;
}

int ipc_export(Call& call, abi::IpcExportArgs& args) {
  SharedBuffer shared;
  {
    const std::lock_guard lock(call.process.mutex);
    const Allocation* allocation = find_allocation(call.process, args.handle);
    if (!allocation || handle_gpu_id(args.handle) != args.gpu_id) {
      return -EINVAL;
    }
    // Doorbells, MMIO pages and memory that lives in the client's own file cannot be shared.
    if (!(allocation->flags & (abi::alloc_vram | abi::alloc_gtt))) {
      return -EINVAL;
    }
    shared = {allocation->buffer, args.gpu_id, allocation->flags, args.flags};
  }
  std::array<u32, 4> name;
  if (getrandom(name.data(), sizeof(name), 0) != sizeof(name)) {
    return -errno;
  }
  const std::lock_guard lock(call.module.ipc_mutex);
  std::erase_if(call.module.shared_buffers,
                [](const auto& entry) { return entry.second.buffer.expired(); });
  call.module.shared_buffers[name] = shared;
  std::memcpy(args.share_handle, name.data(), sizeof(name));
  return 0;
}

int ipc_import(Call& call, abi::IpcImportArgs& args) {
  std::array<u32, 4> name;
  std::memcpy(name.data(), args.share_handle, sizeof(name));
  SharedBuffer shared;
  {
    const std::lock_guard lock(call.module.ipc_mutex);
    const auto found = call.module.shared_buffers.find(name);
    if (found == call.module.shared_buffers.end()) {
      return -EINVAL;
    }
    shared = found->second;
  }
  Allocation allocation;
  allocation.buffer = shared.buffer.lock();
  if (!allocation.buffer || shared.gpu_id != args.gpu_id) {
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
  allocation.va = args.va_addr;
  allocation.size = allocation.buffer->size;
  allocation.flags = shared.alloc_flags & ~u32{abi::alloc_aql_queue_mem};
  args.mmap_offset = allocation.buffer->offset;
  args.flags = shared.user_flags;
  args.handle = add_allocation(*device, std::move(allocation));
  return 0;
}

}  // namespace vgpu::driver
