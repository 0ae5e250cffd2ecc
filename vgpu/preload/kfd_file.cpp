#include "preload/kfd_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "preload/channel.h"
#include "preload/device.h"

namespace vgpu::preload {
namespace {

// The name the driver gives to kfd memfds, as /proc/self/fd shows it.
constexpr char kKfdLink[] = "/memfd:kfd (deleted)";
constexpr char kMemoryLink[] = "/memfd:vgpu-memory (deleted)";

// The kfd file this process opened last (it has only one) and the memory file. Written rarely,
// compared by inode; a torn pair cannot match by accident since all memfds share one device.
std::atomic<gp::u64> known_device{0}, known_kfd{0}, known_memory{0};

void remember(int fd, std::atomic<gp::u64>& inode) {
  struct stat status;
  if (fstat(fd, &status) == 0) {
    known_device.store(status.st_dev, std::memory_order_relaxed);
    inode.store(status.st_ino, std::memory_order_relaxed);
  }
}

// Watchers see the open, as they do on a real device node.
void touch_node() {
  char node[kMaxDirectory + 16];
  snprintf(node, sizeof node, "%s/dev/kfd", device()->tree);
  const long fd = syscall(SYS_openat, AT_FDCWD, node, O_RDONLY | O_CLOEXEC);
  if (fd >= 0) {
    syscall(SYS_close, fd);
  }
}

bool is_text(const char* text, ssize_t length, const char* wanted) {
  return length == static_cast<ssize_t>(strlen(wanted)) &&
         memcmp(text, wanted, static_cast<size_t>(length)) == 0;
}

// The position of a file that some process has open: /proc/PID/fdinfo/N beside /proc/PID/fd/N. -1
// if it cannot be seen.
long position_of(const char* link) {
  const char* folder = strstr(link, "/fd/");
  char path[64], info[64];
  if (folder == nullptr ||
      snprintf(path, sizeof path, "%.*s/fdinfo/%s", static_cast<int>(folder - link), link,
               folder + strlen("/fd/")) >= static_cast<int>(sizeof path)) {
    return -1;
  }
  const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return -1;
  }
  const long length = syscall(SYS_read, fd, info, sizeof info - 1);
  syscall(SYS_close, fd);
  info[length > 0 ? length : 0] = '\0';
  return strncmp(info, "pos:", 4) == 0 ? strtol(info + 4, nullptr, 10) : -1;
}

}  // namespace

int open_kfd(int flags) {
  // ROCm must take its host memory from the render node, which the server shares, rather than
  // register memory of its own (libhsakmt fmm.c: fmm_init_process_apertures reads this next).
  // `vgpu` has set it already; a program that cleaned its environment gets it again.
  const char* value = environment("HSA_USERPTR_FOR_PAGED_MEM");
  if (value == nullptr || strcmp(value, "0") != 0) {
    setenv("HSA_USERPTR_FOR_PAGED_MEM", "0", 1);
  }
  const int attached = attach_process();
  if (attached < 0) {
    errno = -attached;
    return -1;
  }
  Message message;
  message.kind = wire::kind_open_kfd;
  const int fd = open_by_call(message, flags);
  if (fd >= 0) {
    remember(fd, known_kfd);
    touch_node();
  }
  return fd;
}

int open_render(gp::u32 minor, int flags) {
  Message message;
  message.kind = wire::kind_open_render;
  message.argument = minor;
  const int fd = open_by_call(message, flags);
  if (fd >= 0) {
    remember(fd, known_memory);
  }
  return fd;
}

bool is_kfd_file(int fd, FileIdentity& identity) {
  struct stat status;
  const int saved = errno;
  const bool is_memfd = device() != nullptr && fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                        status.st_nlink == 0;
  if (!is_memfd) {
    errno = saved;
    return false;
  }
  identity = {status.st_dev, status.st_ino};
  if (status.st_ino == known_kfd.load(std::memory_order_relaxed) &&
      status.st_dev == known_device.load(std::memory_order_relaxed)) {
    errno = saved;
    return true;
  }
  char link[32], target[64];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, target, sizeof target);
  errno = saved;
  return is_text(target, length, kKfdLink);
}

bool is_memory_file(gp::u64 file_device, gp::u64 inode) {
  return inode != 0 && inode == known_memory.load(std::memory_order_relaxed) &&
         file_device == known_device.load(std::memory_order_relaxed);
}

ssize_t device_file_name(const char* link, char* name, size_t capacity) {
  if (link == nullptr || strncmp(link, "/proc/", 6) != 0 || strstr(link, "/fd/") == nullptr ||
      device() == nullptr) {
    return 0;
  }
  char text[64];
  const int saved = errno;
  const long length = syscall(SYS_readlinkat, AT_FDCWD, link, text, sizeof text);
  const bool is_kfd = is_text(text, length, kKfdLink);
  const long minor = is_text(text, length, kMemoryLink) ? position_of(link) : -1;
  errno = saved;
  if (!is_kfd && minor < 0) {
    return 0;
  }
  constexpr long kFirstRenderMinor = 128;
  int shown = snprintf(text, sizeof text, "/dev/kfd");
  if (!is_kfd) {
    shown = snprintf(text, sizeof text, "/dev/dri/%s%ld",
                     minor < kFirstRenderMinor ? "card" : "renderD", minor);
  }
  const size_t fits = static_cast<size_t>(shown) < capacity ? static_cast<size_t>(shown) : capacity;
  memcpy(name, text, fits);
  return static_cast<ssize_t>(fits);
}

gp::u32 drm_minor(int memory_file) { return static_cast<gp::u32>(lseek(memory_file, 0, SEEK_CUR)); }

}  // namespace vgpu::preload
