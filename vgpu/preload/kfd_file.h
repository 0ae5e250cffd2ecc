// The descriptors of the virtual device: what open() returns, and how one is recognised again.
//
// The kfd file of a process is a memfd, the render nodes are the memfd that holds all GPU memory;
// both are made by the server. So mmap, dup, fstat and passing them around work by themselves, and
// a descriptor is known by the device and inode number behind it.
#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include "libc/types.h"

namespace vgpu::preload {

// A new descriptor, or -1 and errno. `flags` as for open(2): only O_CLOEXEC matters.
int open_kfd(int flags);
int open_render(gp::u32 minor, int flags);

struct FileIdentity {
  gp::u64 device = 0, inode = 0;
};

// True if the descriptor is a kfd file: this process's own, a dup of it, or one that was taken from
// another process (pidfd_getfd), which the driver tells apart.
bool is_kfd_file(int fd, FileIdentity& identity);

// True for the memfd of all GPU memory.
bool is_memory_file(gp::u64 device, gp::u64 inode);

// The number of the DRM node that an open memory file stands for; the driver has put it into the
// file's position.
gp::u32 drm_minor(int memory_file);

// What readlink would say of a link of /proc/PID/fd if the file were a real device's, so that who
// looks for users of the GPU finds them: the length of the name, or 0 if it is no device file.
ssize_t device_file_name(const char* link, char* name, size_t capacity);

}  // namespace vgpu::preload
