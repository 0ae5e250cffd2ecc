// vgpud: one process that owns one or more virtual GPUs and serves the programs that use them.
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/exit_code.h"
#include "base/log.h"
#include "base/socket.h"
#include "driver/profiles.h"
#include "protocol/device_options.h"
#include "protocol/runtime_directory.h"
#include "server/device_config.h"
#include "server/options.h"
#include "server/server.h"

namespace vgpu::server {
namespace {

// Blocked in every thread and read from a descriptor: the server is stopped by its main loop.
Result<UniqueFd> take_signals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  UniqueFd fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  if (!fd) {
    return Error{errno, "signalfd", ""};
  }
  return fd;
}

// Each client thread and each client process costs a descriptor or two.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

Status open_log(const protocol::RuntimeDirectory& directory, LogLevel level) {
  const int fd = ::open(directory.below("log").c_str(),
                        O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    return Error{errno, "open " + directory.below("log"), ""};
  }
  set_log_fd(fd);  // for as long as the process lives
  set_log_level(level);
  return ok();
}

void tell_starter(int ready_fd, const std::string& text) {
  if (ready_fd < 0) {
    return;
  }
  if (::write(ready_fd, text.data(), text.size()) < 0) {
    log_warning("the starter has gone");
  }
  ::close(ready_fd);
}

Status run(const Options& options) {
  const UniqueFd signals = TRY(take_signals());  // before any thread exists
  raise_descriptor_limit();
  const protocol::RuntimeDirectory directory =
      TRY(protocol::RuntimeDirectory::claim(options.directory));
  TRY(open_log(directory, options.log_level));
  driver::DriverConfig config = config_of(options.device);
  config.tree = directory.below(wire::kTreeName);
  const std::unique_ptr<driver::Driver> driver = TRY(driver::Driver::create(std::move(config)));
  const driver::Profile* profile = driver::find_profile(options.device.profile);
  TRY(directory.write(wire::kMarketingName, profile->marketing_name));
  // The socket appears last: who can connect finds everything in place.
  UniqueFd listener = TRY(listen_on(directory.below(wire::kSocketName)));
  const std::unique_ptr<Server> server =
      TRY(Server::create(*driver, options.device, std::move(listener)));
  log_info("ready: {}", protocol::describe_device(options.device));
  tell_starter(options.ready_fd, "ready");
  server->run(signals.get(), options.lifetime_fd);
  return ok();
}

// The registers of a work-group come and go with it, thousands of times a second: memory that went
// back to the system each time would have to be faulted in and cleared again.
void keep_freed_memory() {
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
}

int main(int argc, char** argv) {
  keep_freed_memory();
  Result<Options> options = parse_options(argc, argv);
  if (!options) {
    return gp::report_error(options.error());
  }
  if (!options->help.empty()) {
    std::fputs(options->help.c_str(), stdout);
    return 0;
  }
  const Status status = run(*options);
  if (!status) {
    const std::string message = status.error().message();
    log_error("{}", message);
    tell_starter(options->ready_fd, message);
    return gp::report_error(status.error());
  }
  return 0;
}

}  // namespace
}  // namespace vgpu::server

int main(int argc, char** argv) { return vgpu::server::main(argc, argv); }
