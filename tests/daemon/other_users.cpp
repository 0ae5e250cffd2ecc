#include "daemon/other_users.h"

#include <fmt/format.h>
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
#include <fstream>

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

// Where the kernel reads /proc/PID/environ: on the stack of the program that was started.
bool have_environment_here(std::string_view text) {
  constexpr int kBefore = 49;  // of the fields of /proc/PID/stat: env_start is the 50th
  std::ifstream file("/proc/self/stat");
  std::string word;
  for (int field = 0; field < kBefore; ++field) {
    file >> word;  // the command is a single word
  }
  u64 start = 0, end = 0;
  if (!(file >> start >> end) || text.size() > end - start) {
    return false;
  }
  std::memset(reinterpret_cast<void*>(start), 0, end - start);
  std::memcpy(reinterpret_cast<void*>(start), text.data(), text.size());
  return true;
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

// A command is the path of the daemon's socket, answered with a connection to it, the number of a
// user to become, "namespace", or "environment" and one.
void Stranger::obey(int commands) {
  constexpr std::string_view kEnvironment = "environment ";
  std::vector<UniqueFd> connections;
  std::vector<u8> text(4096);
  for (;;) {
    const auto received = receive_message(commands, text);
    if (!received || received->size == 0) {
      ::_exit(0);
    }
    const std::string command(reinterpret_cast<const char*>(text.data()), received->size);
    u8 good = 0;
    if (!command.starts_with('/')) {
      if (command.starts_with(kEnvironment)) {
        good = have_environment_here(std::string_view(command).substr(kEnvironment.size()));
      } else if (command == "namespace") {
        ::prctl(PR_SET_DUMPABLE, 1);  // its files in /proc are its own
        good = ::unshare(CLONE_NEWUSER) == 0;
      } else {
        const auto uid = static_cast<uid_t>(std::stoul(command));
        good = ::setresuid(uid, uid, uid) == 0;
      }
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

bool Stranger::tell(const std::string& command) const {
  u8 good = 0;
  return send_message(commands_.get(),
                      {reinterpret_cast<const u8*>(command.data()), command.size()}) &&
         receive_message(commands_.get(), {&good, 1}) && good == 1;
}

void Stranger::become(uid_t uid) const { EXPECT_TRUE(tell(std::to_string(uid))); }

void Stranger::become_subordinate(uid_t uid) const {
  ASSERT_TRUE(tell("namespace")) << "no user namespaces here";
  std::ofstream map(fmt::format("/proc/{}/uid_map", pid_));
  map << fmt::format("1 {} 1\n", uid) << std::flush;
  ASSERT_TRUE(map.good());
  become(1);
}

void Stranger::have_environment(const std::string& text) const {
  ASSERT_TRUE(tell("environment " + text));
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
