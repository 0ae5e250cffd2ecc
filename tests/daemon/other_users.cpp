#include "daemon/other_users.h"

#include <grp.h>
#include <linux/sched.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/socket.h"

namespace gp::daemon {
namespace {

pid_t start_process(const Place& place) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.flags = place.own_pid_namespace ? CLONE_NEWPID : 0;
  if (place.pid != 0) {
    arguments.set_tid = reinterpret_cast<u64>(&place.pid);
    arguments.set_tid_size = 1;
  }
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

void take_place(const Place& place) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (place.uid != 0 &&
      (::setgroups(1, &place.group) != 0 || ::setgid(place.uid) != 0 || ::setuid(place.uid) != 0)) {
    ::_exit(1);
  }
}

}  // namespace

Stranger::Stranger(const Place& place) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    std::abort();
  }
  pid_ = start_process(place);
  if (pid_ == 0) {
    ::close(ends[0]);
    take_place(place);
    obey(ends[1]);
  }
  EXPECT_GT(pid_, 0) << std::strerror(errno);
  ::close(ends[1]);
  commands_.reset(ends[0]);
}

Stranger::~Stranger() { kill(); }

void Stranger::kill() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_ = 0;
}

// A command is the path of the daemon's socket, answered with a connection to it, or the number of
// a user to become.
void Stranger::obey(int commands) {
  std::vector<UniqueFd> connections;
  u8 text[4096];
  for (;;) {
    const auto received = receive_message(commands, text);
    if (!received || received->size == 0) {
      ::_exit(0);
    }
    const std::string command(reinterpret_cast<const char*>(text), received->size);
    u8 good = 0;
    if (!command.starts_with('/')) {
      const auto uid = static_cast<uid_t>(std::stoul(command));
      good = ::setresuid(uid, uid, uid) == 0;
      [[maybe_unused]] const auto sent = send_message(commands, {&good, 1});
      continue;
    }
    if (auto made = connect_to(command)) {
      good = 1;
      connections.push_back(std::move(*made));
    }
    const int file = good ? connections.back().get() : -1;
    [[maybe_unused]] const auto sent = send_message(commands, {&good, 1}, {}, {&file, good});
  }
}

void Stranger::become(uid_t uid) const {
  const std::string command = std::to_string(uid);
  u8 good = 0;
  EXPECT_TRUE(
      send_message(commands_.get(), {reinterpret_cast<const u8*>(command.data()), command.size()}));
  EXPECT_TRUE(receive_message(commands_.get(), {&good, 1}));
  EXPECT_EQ(good, 1);
}

UniqueFd Stranger::connect(const std::string& socket) const {
  const auto sent =
      send_message(commands_.get(), {reinterpret_cast<const u8*>(socket.data()), socket.size()});
  u8 good = 0;
  auto answer = receive_message(commands_.get(), {&good, 1});
  const bool connected = sent && answer && answer->files.size() == 1;
  EXPECT_TRUE(connected) << "process " << pid_ << " cannot connect";
  return connected ? std::move(answer->files[0]) : UniqueFd();
}

void OtherUsersTest::SetUp() {
  DaemonTest::SetUp();
  if (::geteuid() != 0) {
    GTEST_SKIP() << "processes of other users can be started by root alone";
  }
  ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
}

int ask_bytes(const UniqueFd& connection, std::span<const u8> message) {
  if (!send_message(connection.get(), message)) {
    return ECONNRESET;
  }
  for (;;) {
    wire::ResultMessage result;
    const ssize_t size = ::recv(connection.get(), &result, sizeof result, 0);
    if (size <= 0) {
      return ECONNRESET;
    }
    if (result.header.kind == wire::Kind::result) {
      return -result.error;
    }
  }
}

}  // namespace gp::daemon
