#include "bench/idle_clients.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/socket.h"
#include "client/frame.h"

namespace gp::bench {
namespace {

// Says hello as an agent does and waits for the welcome. The connection; empty if that failed.
UniqueFd join(const std::string& path) {
  auto connection = connect_to(path);
  if (!connection) {
    return {};
  }
  wire::Hello hello;
  hello.pid = static_cast<u32>(::getpid());
  hello.work_class = wire::code_of(WorkClass::online);
  wire::Welcome welcome;
  if (!send_message(connection->get(), wire::bytes_of(hello)) ||
      ::recv(connection->get(), &welcome, sizeof welcome, 0) != sizeof welcome) {
    return {};
  }
  return std::move(*connection);
}

// In the child: never returns.
[[noreturn]] void be_idle(const std::string& path, int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const UniqueFd connection = join(path);
  const char said = connection ? 'y' : 'n';
  [[maybe_unused]] const ssize_t written = ::write(ready, &said, 1);
  for (;;) {
    ::pause();
  }
}

}  // namespace

Result<IdleClients> IdleClients::start(unsigned count, const std::string& socket) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, "pipe", ""};
  }
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  IdleClients clients;
  for (unsigned i = 0; i < count; ++i) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      return Error{errno, "fork an idle client", ""};
    }
    if (pid == 0) {
      be_idle(socket, write_end.get());
    }
    clients.pids_.push_back(pid);
    char said = 'n';
    if (::read(read_end.get(), &said, 1) != 1 || said != 'y') {
      return Error{ECONNREFUSED, "an idle client was not welcomed by the daemon", ""};
    }
  }
  return clients;
}

IdleClients::~IdleClients() {
  for (const pid_t pid : pids_) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace gp::bench
