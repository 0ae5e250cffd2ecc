// gpreempt-pause-guard PID STATE: unpauses a process that its controller has paused by CRIU_OP, if
// the controller dies. The kernel does not: a paused process would stay so for ever.
//
// A controller starts it before the first pause and tells it before each what it is about to do, so
// that there is no moment at which it could die unnoticed; one that replaces a dead guardian is
// started with the state. When the socket closes, the controller
// has gone. The driver then wants us to be the target's ptrace parent (kfd_chardev.c:3307), which
// the controller was: its death has ended that, or will in a moment.
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "kfd/calls.h"
#include "pause_guard/own_session.h"
#include "pause_guard/protocol.h"

namespace {

using namespace gp::pause_guard;

bool is_readable(int fd) {
  pollfd each = {fd, POLLIN, 0};
  return poll(&each, 1, 0) == 1;
}

// Until the controller has gone. True: it left the target paused.
bool watch(bool paused) {
  for (;;) {
    pollfd fds[] = {{kControlFd, POLLIN, 0}, {kControllerFd, POLLIN, 0}};
    poll(fds, 2, -1);
    // The controller's last message counts, also when it died right after it.
    const bool died = fds[1].revents != 0;
    char message = 0;
    const ssize_t size = recv(kControlFd, &message, 1, MSG_DONTWAIT);
    if (size == 1) {
      paused = message == kPausing;
    } else if (size == 0 || (errno != EINTR && (died || errno != EAGAIN))) {
      return paused;
    }
  }
}

int unpause(pid_t pid) {
  // EPERM: the kernel is not done with the dead controller yet.
  while (ptrace(PTRACE_SEIZE, pid, nullptr, nullptr) != 0) {
    const int error = errno;
    if (is_readable(kTargetFd)) {
      return 0;  // the target has ended
    }
    if (error != EPERM) {
      return -error;
    }
    const timespec moment = {0, 1'000'000};
    nanosleep(&moment, nullptr);
  }
  const int error = gp::kfd::criu_unpause({kKfdFd});
  return error == -EINVAL ? 0 : error;  // it was not paused: the controller died just before
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t pid = argc == 3 ? static_cast<pid_t>(atoi(argv[1])) : 0;
  if (pid <= 0) {
    fprintf(stderr, "usage: gpreempt-pause-guard PID p|u (started by gpreempt, not by hand)\n");
    return 2;
  }
  leave_controller(kControlFd + kDescriptors);
  send(kControlFd, &kReady, 1, MSG_NOSIGNAL);
  const int error = watch(argv[2][0] == kPausing) ? unpause(pid) : 0;
  if (error < 0) {
    fprintf(stderr, "gpreempt-pause-guard: cannot unpause pid %d: %s\n", pid, strerror(-error));
  }
  return error < 0 ? 1 : 0;  // the end of the tracer lets the target go
}
