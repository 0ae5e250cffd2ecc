#include "server/server_support.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

namespace vgpu::server {
namespace {

constexpr int kDeadlineMs = 60'000;

std::string read_to_end(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<std::size_t>(got));
  }
  return text;
}

}  // namespace

Child::Child(const Words& words) {
  int out[2], err[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(err, O_CLOEXEC) != 0) {
    std::abort();
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(out[1], STDOUT_FILENO);
    ::dup2(err[1], STDERR_FILENO);
    ::execvp(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::close(out[1]);
  ::close(err[1]);
  out_.reset(out[0]);
  err_.reset(err[0]);
}

Child::~Child() {
  if (!waited_ && out_) {
    ::kill(pid_, SIGKILL);
    wait();
  }
}

bool Child::expect_line(const std::string& line) {
  return read_until(line + "\n").find(line + "\n") != std::string::npos;
}

std::string Child::read_until(const std::string& text) {
  while (read_so_far_.find(text) == std::string::npos) {
    pollfd ready = {out_.get(), POLLIN, 0};
    char buffer[512];
    ssize_t got = 0;
    if (::poll(&ready, 1, kDeadlineMs) != 1 ||
        (got = ::read(out_.get(), buffer, sizeof buffer)) <= 0) {
      break;
    }
    read_so_far_.append(buffer, static_cast<std::size_t>(got));
  }
  return read_so_far_;
}

void Child::signal(int number) const { ::kill(pid_, number); }

Outcome Child::wait() {
  Outcome outcome;
  outcome.out = read_so_far_ + read_to_end(out_.get());
  outcome.err = read_to_end(err_.get());
  int status = 0;
  ::waitpid(pid_, &status, 0);
  waited_ = true;
  outcome.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

Outcome run(const Words& words) { return Child(words).wait(); }

void ServerTest::SetUp() {
  ::setenv("XDG_RUNTIME_DIR", home_.c_str(), 1);
  // In a sanitized build `vgpu` itself may run with libvgpu.so preloaded before the sanitizer.
  ::setenv("ASAN_OPTIONS", "verify_asan_link_order=0", 0);
}

void ServerTest::TearDown() {
  for (const std::string& name : leftovers()) {
    vgpu({"stop", name});
  }
}

Outcome ServerTest::start(const std::string& name, Words options) {
  options.insert(options.begin(), {"start", name});
  return vgpu(options);
}

pid_t ServerTest::server_pid(const std::string& name) {
  const auto list = nlohmann::json::parse(vgpu({"list", "--json"}).out);
  for (const auto& device : list["devices"]) {
    if (device["name"] == name) {
      return device["pid"];
    }
  }
  return 0;
}

std::vector<std::string> ServerTest::leftovers() const {
  std::vector<std::string> names;
  std::error_code code;
  for (const auto& entry : std::filesystem::directory_iterator(devices(), code)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

bool has_ended(pid_t pid) {
  const UniqueFd pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  pollfd gone = {pidfd.get(), POLLIN, 0};
  return !pidfd || ::poll(&gone, 1, kDeadlineMs) == 1;
}

}  // namespace vgpu::server
