// Whose daemon an agent believes: the processes are those of users of the test's choice.
#include <gtest/gtest.h>
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
  // Whether an agent of `user` stays connected to a socket on which `owner` listens.
  bool trusts(uid_t user, uid_t owner) {
    const std::string path = directory_.file("socket");
    ::unlink(path.c_str());
    const int listener = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    // The kernel notes who listens.
    EXPECT_EQ(::seteuid(owner), 0);
    EXPECT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener, 1), 0);
    EXPECT_EQ(::seteuid(0), 0);
    ::chmod(path.c_str(), 0666);
    const pid_t agent = ::fork();
    if (agent == 0) {
      ::setenv("GPREEMPT_SOCKET", path.c_str(), 1);
      Link link;
      ::_exit(::setuid(user) == 0 && link.prepare() && link.try_connect() ? 1 : 0);
    }
    int status = 0;
    ::waitpid(agent, &status, 0);
    ::close(listener);
    return WIFEXITED(status) && WEXITSTATUS(status) == 1;
  }

 private:
  const TemporaryDirectory directory_;
};

TEST_F(Trust, IsForRoot) { EXPECT_TRUE(trusts(kAlice, 0)); }

TEST_F(Trust, IsForTheOwnUser) { EXPECT_TRUE(trusts(kAlice, kAlice)); }

TEST_F(Trust, IsNotForAnotherUser) {
  EXPECT_FALSE(trusts(kAlice, kBob));
  EXPECT_FALSE(trusts(0, kBob)) << "nor by an agent of root";
}

}  // namespace
}  // namespace gp::agent
