#include "demo/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <thread>

#include "base/arguments.h"

namespace gp::demo {
namespace {

using namespace std::chrono_literals;
constexpr auto kPatience = 5s;
constexpr std::size_t kLastWords = 400;
constexpr int kCannotExecute = 127;

// In the child. A parent that dies between fork and prctl would leave us alone: look again.
[[noreturn]] void become(Command& command, pid_t parent, int output, int input) {
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, command.end_signal);
  if (::getppid() != parent) {
    ::_exit(kCannotExecute);
  }
  const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int error =
      ::open(command.error_file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  ::dup2(input >= 0 ? input : null, STDIN_FILENO);
  ::dup2(output, STDOUT_FILENO);
  ::dup2(error, STDERR_FILENO);
  for (const auto& [name, value] : command.environment) {
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  ::execv(command.words[0].c_str(), argument_pointers(command.words).data());
  ::dprintf(STDERR_FILENO, "%s: cannot be executed: errno %d\n", command.words[0].c_str(), errno);
  ::_exit(kCannotExecute);
}

std::string end_of_file(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  text.erase(text.find_last_not_of('\n') + 1);
  return text.size() > kLastWords ? text.substr(text.size() - kLastWords) : text;
}

}  // namespace

Result<Child> Child::start(Command command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return Error{errno, fmt::format("start {}: pipe", command.name), ""};
  }
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  ::fcntl(read_end.get(), F_SETFL, O_NONBLOCK);
  UniqueFd said, heard;
  if (command.listens) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
      return Error{errno, fmt::format("start {}: socketpair", command.name), ""};
    }
    said.reset(ends[0]);
    heard.reset(ends[1]);
  }
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) {
    return Error{errno, fmt::format("start {}: fork", command.name), ""};
  }
  if (pid == 0) {
    become(command, parent, write_end.get(), heard.get());
  }
  return Child(std::move(command), pid, std::move(read_end), std::move(said));
}

Child::~Child() {
  if (pid_ > 0 && output_) {  // not moved from
    end();
  }
}

void Child::update() {
  read_output();
  int status = 0;
  if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) {
    status_ = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    read_output();  // what it said just before
  }
}

void Child::read_output() {
  char buffer[4096];
  ssize_t got = 0;
  while ((got = ::read(output_.get(), buffer, sizeof buffer)) > 0) {
    unread_.append(buffer, static_cast<std::size_t>(got));
  }
  closed_ |= got == 0;
  for (std::size_t end; (end = unread_.find('\n')) != std::string::npos;) {
    lines_.push_back(unread_.substr(0, end));
    unread_.erase(0, end + 1);
  }
}

bool Child::said(const std::string& line) const {
  return std::find(lines_.begin(), lines_.end(), line) != lines_.end();
}

Error Child::failure() const {
  const std::string words = end_of_file(command_.error_file);
  std::string what =
      fmt::format("{} {}", command_.name,
                  !status_          ? "does not do what it should"
                  : *status_ >= 128 ? fmt::format("was ended by signal {}", *status_ - 128)
                                    : fmt::format("ended with status {}", *status_));
  if (!words.empty()) {
    what += fmt::format("; it said: {}", words);
  }
  return Error{ECHILD, what, ""};
}

void Child::signal(int number) const {
  if (!status_) {
    ::kill(pid_, number);
  }
}

Status Child::send(const std::string& line) const {
  const std::string whole = line + "\n";
  const ssize_t sent = ::send(input_.get(), whole.data(), whole.size(), MSG_NOSIGNAL);
  if (sent != static_cast<ssize_t>(whole.size())) {
    return Error{sent < 0 ? errno : EIO, fmt::format("tell {}: {}", command_.name, line), ""};
  }
  return ok();
}

bool Child::has_gone_within(std::chrono::milliseconds patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (update(); !status_; update()) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(2ms);
  }
  return true;
}

void Child::end() {
  update();
  signal(command_.end_signal);
  if (!has_gone_within(kPatience)) {
    signal(SIGKILL);
    has_gone_within(kPatience);
  }
}

}  // namespace gp::demo
