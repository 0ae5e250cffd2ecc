// How a helper process leaves the one that has started it.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gp::pause_guard {

// By one call, which glibc has since 2.34 and Linux since 5.9; else one by one.
inline void close_from(unsigned first) {
  constexpr long kCloseRange = 436;  // SYS_close_range, which old headers do not have
  if (syscall(kCloseRange, first, ~0u, 0) == 0) {
    return;
  }
  DIR* open_ones = opendir("/proc/self/fd");
  if (open_ones == nullptr) {
    return;
  }
  while (const dirent* each = readdir(open_ones)) {
    const int fd = atoi(each->d_name);  // . and .. are 0, which stays
    if (static_cast<unsigned>(fd) >= first && fd != dirfd(open_ones)) {
      close(fd);
    }
  }
  closedir(open_ones);
}

// Into a session of its own: what ends or stops the controller's terminal or process group must not
// end or stop us, and the controller has no child it does not know of. Descriptors from
// `first_unused` on are closed: nobody must wait for the end of a pipe because we hold its other
// end. Errors are still told.
inline void leave_controller(unsigned first_unused) {
  if (const pid_t child = fork(); child != 0) {
    _exit(child < 0 ? 1 : 0);
  }
  setsid();
  const int nothing = open("/dev/null", O_RDWR);
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  close_from(first_unused);
}

}  // namespace gp::pause_guard
