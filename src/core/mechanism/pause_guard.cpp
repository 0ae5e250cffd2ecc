#include "mechanism/pause_guard.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "mechanism/helper_program.h"
#include "pause_guard/protocol.h"

namespace gp::mechanism {

Result<PauseGuard> PauseGuard::start(pid_t target, int target_pidfd, int kfd, bool paused) {
  static_assert(pause_guard::kKfdFd == pause_guard::kControlFd + 1);
  static_assert(pause_guard::kTargetFd == pause_guard::kControlFd + 2);
  static_assert(pause_guard::kControllerFd == pause_guard::kControlFd + 3);
  const std::string program = TRY(find_helper("gpreempt-pause-guard"));
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return Error{errno, "cannot make a socket for the pause guard", ""};
  }
  UniqueFd ours(ends[0]), theirs(ends[1]);
  const char state = paused ? pause_guard::kPausing : pause_guard::kRunning;
  const UniqueFd self(static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));
  if (!self) {
    return Error{errno, "cannot make a pidfd for the pause guard", ""};
  }
  if (const int error = start_helper(program, {fmt::format("{}", target), std::string(1, state)},
                                     {theirs.get(), kfd, target_pidfd, self.get()})) {
    return Error{error, fmt::format("cannot start {}", program), ""};
  }
  theirs.reset();
  char message = 0;
  ssize_t size = 0;
  do {
    size = ::recv(ours.get(), &message, 1, 0);
  } while (size < 0 && errno == EINTR);
  if (size != 1 || message != pause_guard::kReady) {
    return Error{EPIPE, fmt::format("{} ended at once", program), ""};
  }
  return PauseGuard(std::move(ours));
}

Status PauseGuard::pausing() const {
  if (::send(control_.get(), &pause_guard::kPausing, 1, MSG_NOSIGNAL) != 1) {
    return Error{EPIPE, "the pause guard has died", ""};
  }
  return ok();
}

void PauseGuard::running() const {
  ::send(control_.get(), &pause_guard::kRunning, 1, MSG_NOSIGNAL);
}

}  // namespace gp::mechanism
