// An eventfd that says "something happened", not how often. Libc only.
#pragma once

#include <sys/eventfd.h>
#include <unistd.h>

#include "libc/types.h"

namespace gp {

// -1 with errno when there is none to be had.
inline int make_event() { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// It cannot fail but with EAGAIN, when it was signaled 2^64 - 2 times and nobody has looked.
inline void signal_event(int event) {
  const u64 one = 1;
  [[maybe_unused]] const ssize_t written = write(event, &one, sizeof one);
}

// Whether it had been signaled. A timerfd can be cleared the same way.
inline bool clear_event(int event) {
  u64 count = 0;
  return read(event, &count, sizeof count) == sizeof count;
}

}  // namespace gp
