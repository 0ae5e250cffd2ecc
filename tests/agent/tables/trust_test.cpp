// Whose daemon an agent believes: the processes are those of users of the test's choice.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "agent/link.h"
#include "support/temporary_directory.h"

namespace gp::agent {
namespace {

constexpr uid_t kAlice = 60'001, kBob = 60'002;  // nobody else's, and in no /etc/passwd

class Trust : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root has processes of several users";
    }
    ::chmod(directory_.path().c_str(), 0777);
  }
  // The kernel notes who listens.
  static int listen_at(const std::string& path) {
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    ::chmod(path.c_str(), 0666);
    return listener;
  }
  static bool link_as(uid_t user, Link& link) {
    return ::setuid(user) == 0 && link.prepare() && link.try_connect();
  }
  // Whether an agent of `user` stays connected to a socket on which `owner` listens.
  bool trusts(uid_t user, uid_t owner) {
    const std::string path = directory_.file("socket");
    ::unlink(path.c_str());
    EXPECT_EQ(::seteuid(owner), 0);
    const int listener = listen_at(path);
    EXPECT_EQ(::seteuid(0), 0);
    const pid_t agent = ::fork();
    if (agent == 0) {
      ::setenv("GPREEMPT_SOCKET", path.c_str(), 1);
      Link link;
      ::_exit(link_as(user, link) ? 1 : 0);
    }
    int status = 0;
    ::waitpid(agent, &status, 0);
    ::close(listener);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }

 private:
  const TemporaryDirectory directory_;
};

// A user with a login session has a runtime directory, and mostly no daemon in it.
TEST_F(Trust, IsForTheDaemonOfTheSystemWhereTheUserHasNone) {
  const pid_t agent = ::fork();
  if (agent == 0) {
    const bool is_ready = ::unshare(CLONE_NEWNS) == 0 &&
                          ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          ::mount("none", "/run", "tmpfs", 0, "mode=755") == 0 &&
                          ::mkdir("/run/gpreempt", 0755) == 0 && ::mkdir("/run/session", 0777) == 0;
    const int listener = is_ready ? listen_at("/run/gpreempt/gpreemptd.sock") : -1;
    ::unsetenv("GPREEMPT_SOCKET");
    ::setenv("XDG_RUNTIME_DIR", "/run/session", 1);
    Link link;
    const bool found = link_as(kAlice, link);
    ::_exit(listener < 0 ? 2 : found ? 1 : 0);
  }
  int status = 0;
  ::waitpid(agent, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 1);
}

TEST_F(Trust, IsForRoot) { EXPECT_TRUE(trusts(kAlice, 0)); }

TEST_F(Trust, IsForTheOwnUser) { EXPECT_TRUE(trusts(kAlice, kAlice)); }

TEST_F(Trust, IsNotForAnotherUser) {
  EXPECT_FALSE(trusts(kAlice, kBob));
  EXPECT_FALSE(trusts(0, kBob)) << "nor by an agent of root";
}

}  // namespace
}  // namespace gp::agent
