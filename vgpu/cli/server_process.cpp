#include "cli/server_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "base/arguments.h"
#include "cli/places.h"
#include "protocol/wire.h"

namespace vgpu::cli {
namespace {

using gp::Error;
using gp::Result;
using gp::UniqueFd;

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, "pipe", ""};
  }
  return Pipe{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

// In the child. The server has nothing to do with our terminal, nor with a device we run in.
[[noreturn]] void become_server(std::vector<std::string>& words, int ready_fd, int lifetime_fd) {
  ::setsid();
  ::unsetenv("LD_PRELOAD");
  ::unsetenv(wire::kEnvironment);
  const int null = ::open("/dev/null", O_RDWR);
  ::dup2(null, STDIN_FILENO);
  ::dup2(null, STDOUT_FILENO);
  ::dup2(null, STDERR_FILENO);  // what it has to say comes through the pipe and the log
  ::fcntl(ready_fd, F_SETFD, 0);
  if (lifetime_fd >= 0) {
    ::fcntl(lifetime_fd, F_SETFD, 0);
  }
  std::vector<char*> arguments = gp::argument_pointers(words);
  ::execv(arguments[0], arguments.data());
  const std::string text = fmt::format("{}: cannot be executed", words[0]);
  if (::write(ready_fd, text.data(), text.size()) < 0) {
    // The starter has gone.
  }
  ::_exit(1);
}

// All that the server writes until it closes the pipe: "ready", or why not.
std::string read_all(int fd) {
  std::string text;
  char buffer[512];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got > 0) {
      text.append(buffer, static_cast<std::size_t>(got));
    } else if (got == 0 || errno != EINTR) {
      return text;
    }
  }
}

}  // namespace

Result<ServerProcess> start_server(const std::string& directory,
                                   const std::vector<std::string>& device_options,
                                   Lifetime lifetime) {
  const std::string program = TRY(find_server());
  Pipe ready = TRY(make_pipe());
  Pipe life = TRY(make_pipe());
  const bool bound = lifetime == Lifetime::until_starter_ends;
  std::vector<std::string> words = {program, "--dir", directory, "--ready-fd",
                                    std::to_string(ready.write.get())};
  if (bound) {
    words.insert(words.end(), {"--lifetime-fd", std::to_string(life.read.get())});
  }
  words.insert(words.end(), device_options.begin(), device_options.end());
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error{errno, "fork", ""};
  }
  if (pid == 0) {
    become_server(words, ready.write.get(), bound ? life.read.get() : -1);
  }
  ready.write.reset();
  const std::string answer = read_all(ready.read.get());
  if (answer != "ready") {
    int status = 0;
    ::waitpid(pid, &status, 0);
    return Error{EIO, answer.empty() ? "vgpud ended without a word" : answer,
                 answer.empty() ? fmt::format("run {} --dir {}", program, directory) : ""};
  }
  return ServerProcess{pid, bound ? std::move(life.write) : UniqueFd()};
}

}  // namespace vgpu::cli
