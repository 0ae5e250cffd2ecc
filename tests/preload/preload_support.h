// A client of the virtual GPU, written the way programs are: open, ioctl, mmap. The tests of this
// folder run under `vgpu run`.
#pragma once

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "abi/kfd.h"
#include "base/unique_fd.h"

namespace vgpu::preload {

using gp::u32;
using gp::u64;
using gp::UniqueFd;

template <class Args>
int kfd_ioctl(int fd, u32 number, Args* args) {
  return ::ioctl(fd, _IOC(_IOC_READ | _IOC_WRITE, gp::abi::kKfdIoctlBase, number, sizeof(Args)),
                 args);
}

inline UniqueFd open_kfd() { return UniqueFd(::open("/dev/kfd", O_RDWR | O_CLOEXEC)); }

// The interface version, or -errno.
inline int kfd_minor(int fd) {
  gp::abi::GetVersionArgs args{};
  return kfd_ioctl(fd, gp::abi::kfd_get_version, &args) == 0 ? static_cast<int>(args.minor_version)
                                                             : -errno;
}

// The gpu_id of the first GPU, from the topology.
u32 first_gpu_id();

// What /proc/self/maps shows for the mapping that holds the address.
std::string mapping_of(const void* address);

// A process that has opened the device and acquired its VM, ready to allocate.
struct Gpu {
  UniqueFd kfd, render;
  u32 id = 0;
  Gpu();
  // Handle, or 0 with errno set.
  u64 allocate(u32 flags, u64 size, void* user_pointer = nullptr);
  bool free(u64 handle);

 private:
  u64 next_va_ = u64{1} << 40;
};

// Runs `body` in a forked child and returns its exit status.
int in_child(int (*body)());

}  // namespace vgpu::preload
