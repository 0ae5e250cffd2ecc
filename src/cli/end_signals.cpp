#include "cli/end_signals.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace gp::cli {

Result<UniqueFd> catch_end_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    sigaddset(&signals, number);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) {
    return Error{errno, "signalfd", ""};
  }
  return fd;
}

}  // namespace gp::cli
