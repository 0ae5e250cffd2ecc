// The seam for ioctls: everything that talks to /dev/kfd goes through a Channel. Libc only, no
// exceptions, no allocation: the code that runs inside other people's processes uses it too.
//
// A Channel is a value: a file descriptor and the function that carries a request out. The function
// is the system's ioctl except in tests, which record, replay or fail requests.
#pragma once

#include "libc/types.h"

namespace gp::kfd {

// Carries out one request. Returns what ioctl() returns, or -errno.
using IoctlFunction = int (*)(void* context, int fd, unsigned long request, void* argument);

// libc's ioctl, called again when a signal interrupts it (EINTR).
int system_ioctl(void* context, int fd, unsigned long request, void* argument);

struct Channel {
  int fd = -1;  // of /dev/kfd; not owned
  IoctlFunction ioctl = system_ioctl;
  void* context = nullptr;  // of `ioctl`
};

}  // namespace gp::kfd
