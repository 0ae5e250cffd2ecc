#include "mechanism/helper_program.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/parts.h"
#include "base/unique_fd.h"

namespace gp::mechanism {
namespace {

// Copies above the numbers a helper expects them at, so that none overwrites another.
UniqueFd copy_above(int fd) { return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 10)); }

}  // namespace

Result<std::string> find_helper(const std::string& name) {
  if (const char* named = ::secure_getenv("GPREEMPT_GUARDIAN")) {
    const std::string guard = named;
    std::string beside = fmt::format("{}/{}", guard.substr(0, guard.rfind('/')), name);
    if (::access(beside.c_str(), X_OK) == 0) {
      return beside;
    }
  }
  auto found = find_part(PartKind::helper, name);
  if (!found) {
    return Error(found.error())
        .with_hint(
            "it belongs to gpreempt; GPREEMPT_GUARDIAN=<folder>/gpreempt-pause-guard says "
            "where");
  }
  return found;
}

// A helper leaves its first process at once: that one is ours to wait for.
int start_helper(const std::string& program, std::vector<std::string> arguments,
                 std::initializer_list<int> descriptors) {
  std::vector<UniqueFd> copies;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  int number = kFirstHelperFd;
  for (const int descriptor : descriptors) {
    copies.push_back(copy_above(descriptor));
    posix_spawn_file_actions_adddup2(&actions, copies.back().get(), number++);
  }
  std::string name = program.substr(program.rfind('/') + 1);
  std::vector<char*> words = {name.data()};
  for (std::string& argument : arguments) {
    words.push_back(argument.data());
  }
  words.push_back(nullptr);
  pid_t first = 0;
  const int error =
      ::posix_spawn(&first, program.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error == 0) {
    int status = 0;
    while (::waitpid(first, &status, 0) < 0 && errno == EINTR) {
    }
  }
  return error;
}

}  // namespace gp::mechanism
