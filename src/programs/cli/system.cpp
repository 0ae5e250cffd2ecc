#include "cli/system.h"

#include <sys/signalfd.h>

#include <cerrno>
#include <csignal>

namespace gp::cli {

Result<discover::Snapshot> live_snapshot(const discover::Sources& sources) {
  const auto classes = TRY(discover::class_config_from_environment());
  Result<discover::Snapshot> snapshot = discover::take_snapshot(system_os(), {}, classes, sources);
  if (!snapshot && snapshot.error().code == ENOENT) {
    return Error{ENODEV, "no AMD GPU driver here: there is no /sys/class/kfd/kfd",
                 "load amdgpu, or try the virtual GPU: vgpu run -- gpreempt queues"};
  }
  return snapshot;
}

Result<wire::Client> connect_to_daemon(const std::string& socket) {
  auto daemon = wire::Client::connect(socket);
  if (!daemon && (daemon.error().code == ENOENT || daemon.error().code == ECONNREFUSED)) {
    return Error{ENODEV, "gpreemptd is not running", "start it: gpreemptd"};
  }
  return daemon;
}

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
