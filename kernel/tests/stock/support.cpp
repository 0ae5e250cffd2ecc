#include "support.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string_view>

#include "kfd/calls.h"

namespace gp::stock {

void in_own_process(const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    body();
    std::fflush(nullptr);
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child's status: " << status;
}

Kfd::Kfd() {
  channel_.fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
  EXPECT_GE(channel_.fd, 0) << "errno " << errno;
}

Kfd::~Kfd() { close(channel_.fd); }

int Kfd::send(u32 type, u32 number, u32 size, void* args) const {
  const unsigned long request = _IOC(_IOC_READ | _IOC_WRITE, type, number, size);
  return ioctl(channel_.fd, request, args) < 0 ? -errno : 0;
}

namespace {

// The tracer's right over a process that once was root's is lost unless it is dumpable.
[[noreturn]] void be_a_victim(Victim::Uses uses, int ready) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 1);
  std::optional<Kfd> kfd;
  int result = 0;
  if (uses != Victim::Uses::nothing) {
    kfd.emplace();
  }
  if (uses == Victim::Uses::kfd_with_runtime) {
    result = kfd::enable_runtime(kfd->channel());
  }
  if (write(ready, &result, sizeof(result)) == sizeof(result)) {
    for (;;) {
      pause();
    }
  }
  _exit(1);
}

}  // namespace

Victim::Victim(Uses uses) {
  std::array<int, 2> ends{};
  EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
  std::fflush(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    be_a_victim(uses, ends[1]);
  }
  close(ends[1]);
  int result = -1;
  EXPECT_EQ(read(ends[0], &result, sizeof(result)), static_cast<ssize_t>(sizeof(result)));
  EXPECT_EQ(result, 0);
  close(ends[0]);
}

Victim::~Victim() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

int Victim::seize() const { return ptrace(PTRACE_SEIZE, pid_, nullptr, nullptr) < 0 ? -errno : 0; }

Ended run_program(const std::string& command) {
  Ended ended;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    ended.status = -errno;
    return ended;
  }
  std::array<char, 4096> chunk{};
  for (std::size_t n = 0; (n = fread(chunk.data(), 1, chunk.size(), pipe)) > 0;) {
    ended.output.append(chunk.data(), n);
  }
  const int status = pclose(pipe);
  ended.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return ended;
}

}  // namespace gp::stock

// As root, or with --user as an ordinary user: the driver's answers are the same unless a test says
// otherwise.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr uid_t kUser = 1000;
  if (argc == 2 && std::string_view(argv[1]) == "--user") {
    if (setresgid(kUser, kUser, kUser) != 0 || setresuid(kUser, kUser, kUser) != 0) {
      std::perror("becoming an ordinary user");
      return 1;
    }
    prctl(PR_SET_DUMPABLE, 1);
  }
  return RUN_ALL_TESTS();
}
