#include "preload/userfault.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>

#include <initializer_list>

#include "preload/raw_syscall.h"

namespace vgpu::preload {
namespace {

// The feature set can be negotiated once per descriptor.
int open_with(int flags, gp::u64 features) {
  const long fd = raw_syscall(SYS_userfaultfd, flags | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return -1;
  }
  uffdio_api api{};
  api.api = UFFD_API;
  api.features = features;
  if (raw_syscall(SYS_ioctl, fd, UFFDIO_API, reinterpret_cast<long>(&api)) != 0) {
    raw_syscall(SYS_close, fd);
    return -1;
  }
  return static_cast<int>(fd);
}

}  // namespace

int open_userfault() {
  // Linux 5.19, 6.4 and 5.11: the headers may be older than the kernel.
  constexpr gp::u64 kWpShmem = 1 << 12;        // UFFD_FEATURE_WP_HUGETLBFS_SHMEM
  constexpr gp::u64 kWpUnpopulated = 1 << 13;  // UFFD_FEATURE_WP_UNPOPULATED
  constexpr int kUserModeOnly = 1;             // UFFD_USER_MODE_ONLY
  constexpr gp::u64 kNeeded = UFFD_FEATURE_PAGEFAULT_FLAG_WP | kWpShmem;
  for (const gp::u64 features : {kNeeded | kWpUnpopulated, kNeeded}) {
    for (const int flags : {0, kUserModeOnly}) {
      const int fd = open_with(flags, features);
      if (fd >= 0) {
        return fd;
      }
    }
  }
  return -1;
}

bool watch_writes(int userfault, gp::u64 start, gp::u64 end) {
  uffdio_register range{};
  range.range.start = start;
  range.range.len = end - start;
  range.mode = UFFDIO_REGISTER_MODE_WP;
  return raw_syscall(SYS_ioctl, userfault, UFFDIO_REGISTER, reinterpret_cast<long>(&range)) == 0;
}

bool protect_writes(int userfault, gp::u64 start, gp::u64 end) {
  uffdio_writeprotect range{};
  range.range.start = start;
  range.range.len = end - start;
  range.mode = UFFDIO_WRITEPROTECT_MODE_WP;
  return raw_syscall(SYS_ioctl, userfault, UFFDIO_WRITEPROTECT, reinterpret_cast<long>(&range)) ==
         0;
}

}  // namespace vgpu::preload
