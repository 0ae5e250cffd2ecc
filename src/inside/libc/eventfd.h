// An eventfd that says "something happened", not how often. Libc only.
#pragma once

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "libc/types.h"

namespace gp {

// -1 with errno when there is none to be had.
inline int make_event() { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

// It cannot fail but with EAGAIN, when it was signaled 2^64 - 2 times and nobody has looked. Still,
// somebody would wait for ever for one that is lost: it is tried again.
inline void signal_event(int event) {
  const u64 one = 1;
  for (int tries = 0; tries < 3; ++tries) {
    if (write(event, &one, sizeof one) == sizeof one || errno == EAGAIN) {
      return;
    }
  }
}

// Whether it had been signaled. A timerfd can be cleared the same way.
inline bool clear_event(int event) {
  u64 count = 0;
  return read(event, &count, sizeof count) == sizeof count;
}

}  // namespace gp
