// Calls to the server: one message out, one message back, on a socket of the calling thread's own.
//
// A thread connects at its first call and hangs up when it ends. Descriptors are close-on-exec and
// are closed in a forked child, which is a process of its own to the server. A call made from a
// signal handler while the thread is inside another uses a connection of its own.
#pragma once

#include "libc/types.h"
#include "protocol/wire.h"

namespace vgpu::preload {

struct Message {
  gp::u32 kind = 0;
  gp::u64 argument = 0;
  gp::u64 file_device = 0, file_inode = 0;
  const void* data = nullptr;  // may be a bad pointer of the program's: -EFAULT
  gp::u32 size = 0;
  int passed_fd = -1;
};

struct Answer {
  void* data = nullptr;  // where to put the reply's data; may be a bad pointer too
  gp::u32 capacity = 0;
  int fd = -1;  // a descriptor that came with it; the caller's to close
};

// >= 0, or -errno as the driver answered. -ENODEV if the server cannot be reached or goes during
// the call (said once on standard error). Signals do not interrupt it. errno is left alone.
int call(const Message& message, Answer& answer);

// A call whose answer is an open file, as open(2) returns it: the descriptor, or -1 and errno. Of
// `flags` only O_CLOEXEC counts.
int open_by_call(const Message& message, int flags);

// Moves a descriptor of ours out of the way of programs that expect the low numbers for themselves.
int move_high(int fd);

// Opens the connection that stands for this process's address space, before its first /dev/kfd.
// 0 or -ENODEV.
int attach_process();

}  // namespace vgpu::preload
