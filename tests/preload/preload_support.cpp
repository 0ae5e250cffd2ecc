#include "preload/preload_support.h"

#include <sys/wait.h>

#include <fstream>
#include <sstream>

namespace vgpu::preload {

u32 first_gpu_id() {
  std::ifstream file("/sys/class/kfd/kfd/topology/nodes/1/gpu_id");
  u32 id = 0;
  file >> id;
  return id;
}

std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  const u64 wanted = reinterpret_cast<u64>(address);
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    u64 start = 0, end = 0;
    char dash = 0;
    fields >> std::hex >> start >> dash >> end;
    if (start <= wanted && wanted < end) {
      return line;
    }
  }
  return "";
}

Gpu::Gpu() : kfd(open_kfd()), render(::open("/dev/dri/renderD128", O_RDWR | O_CLOEXEC)) {
  id = first_gpu_id();
  gp::abi::AcquireVmArgs acquire{};
  acquire.drm_fd = static_cast<u32>(render.get());
  acquire.gpu_id = id;
  if (kfd_ioctl(kfd.get(), gp::abi::kfd_acquire_vm, &acquire) != 0) {
    id = 0;
  }
}

u64 Gpu::allocate(u32 flags, u64 size, void* user_pointer) {
  gp::abi::AllocMemoryArgs args{};
  args.va_addr = next_va_;
  args.size = size;
  args.gpu_id = id;
  args.flags = flags | gp::abi::alloc_writable;
  args.mmap_offset = reinterpret_cast<u64>(user_pointer);
  next_va_ += size;
  if (kfd_ioctl(kfd.get(), gp::abi::kfd_alloc_memory_of_gpu, &args) != 0) {
    return 0;
  }
  if (user_pointer != nullptr && args.mmap_offset != reinterpret_cast<u64>(user_pointer)) {
    return 0;  // libhsakmt relies on the address coming back
  }
  return args.handle;
}

bool Gpu::free(u64 handle) {
  gp::abi::FreeMemoryArgs args{};
  args.handle = handle;
  return kfd_ioctl(kfd.get(), gp::abi::kfd_free_memory_of_gpu, &args) == 0;
}

int in_child(int (*body)()) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(body());
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace vgpu::preload
