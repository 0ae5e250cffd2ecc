#include "mechanism/pause_guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "os/os.h"
#include "pause_guard/protocol.h"

namespace gp::mechanism {
namespace {

constexpr char kName[] = "gpreempt-pause-guard";

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Beside the program, or where it is installed or built with respect to the library.
std::vector<std::string> places() {
  std::vector<std::string> found;
  if (const char* named = std::getenv("GPREEMPT_GUARDIAN")) {
    found.emplace_back(named);
  }
  if (const auto program = system_os().read_link("/proc/self/exe")) {
    found.push_back(fmt::format("{}/{}", directory_of(*program), kName));
  }
  Dl_info library;
  if (::dladdr(reinterpret_cast<const void*>(&places), &library) != 0) {
    const std::string directory = directory_of(library.dli_fname);
    found.push_back(fmt::format("{}/../bin/{}", directory, kName));
    found.push_back(fmt::format("{}/../libexec/gpreempt/{}", directory, kName));
    found.push_back(fmt::format("{}/../../bin/{}", directory, kName));  // lib/<architecture>
  }
  found.push_back(fmt::format("/usr/libexec/gpreempt/{}", kName));
  return found;
}

Result<std::string> find_program() {
  for (const std::string& place : places()) {
    if (::access(place.c_str(), X_OK) == 0) {
      return place;
    }
  }
  return Error{ENOENT, fmt::format("the program {} is not there", kName),
               "criu is not used without it; GPREEMPT_GUARDIAN=<path> says where it is"};
}

// Copies above the numbers the pause guard expects them at, so that none overwrites another.
UniqueFd copy_above(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 10)); }

// The pause guard leaves its first process at once: that one is ours to wait for.
int spawn(const std::string& program, pid_t target, char state,
          std::array<int, pause_guard::kDescriptors> descriptors) {
  std::array<UniqueFd, pause_guard::kDescriptors> copies;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (std::size_t i = 0; i < copies.size(); i++) {
    copies[i] = copy_above(descriptors[i]);
    posix_spawn_file_actions_adddup2(&actions, copies[i].get(),
                                     pause_guard::kControlFd + static_cast<int>(i));
  }
  std::string pid = fmt::format("{}", target), name = kName, now(1, state);
  char* arguments[] = {name.data(), pid.data(), now.data(), nullptr};
  pid_t first = 0;
  const int error = ::posix_spawn(&first, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    int status = 0;
    while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
    }
  }
  return error;
}

}  // namespace

Result<PauseGuard> PauseGuard::start(pid_t target, int target_pidfd, int kfd, bool paused) {
  static_assert(pause_guard::kKfdFd == pause_guard::kControlFd + 1);
  static_assert(pause_guard::kTargetFd == pause_guard::kControlFd + 2);
  static_assert(pause_guard::kControllerFd == pause_guard::kControlFd + 3);
  const std::string program = TRY(find_program());
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
  if (const int error =
          spawn(program, target, state, {theirs.get(), kfd, target_pidfd, self.get()})) {
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
