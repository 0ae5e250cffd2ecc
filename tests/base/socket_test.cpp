#include "base/socket.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "support/temporary_directory.h"

namespace gp {
namespace {

class SocketTest : public testing::Test {
 protected:
  const TemporaryDirectory temporary_;
  const std::string directory = temporary_.path();
};

std::span<const u8> bytes(const std::string& text) {
  return {reinterpret_cast<const u8*>(text.data()), text.size()};
}

void expect_exchange(const std::string& path) {
  UniqueFd listener = std::move(*listen_on(path));
  UniqueFd client = std::move(*connect_to(path));
  UniqueFd server = std::move(*accept_from(listener.get()));
  ASSERT_TRUE(send_message(client.get(), bytes("head "), bytes("data")));
  u8 buffer[64];
  Result<Received> got = receive_message(server.get(), buffer);
  ASSERT_TRUE(got);
  EXPECT_EQ(std::string(buffer, buffer + got->size), "head data");
  EXPECT_FALSE(got->truncated);
  EXPECT_TRUE(got->files.empty());
}

TEST_F(SocketTest, KeepsMessagesWhole) { expect_exchange(directory + "/s"); }

TEST_F(SocketTest, ReachesPathsLongerThanAnAddress) {
  const std::string deep = directory + "/" + std::string(100, 'd');
  std::filesystem::create_directory(deep);
  expect_exchange(deep + "/s");
}

TEST_F(SocketTest, PassesADescriptorThatIsClosedOnExec) {
  UniqueFd listener = std::move(*listen_on(directory + "/s"));
  UniqueFd client = std::move(*connect_to(directory + "/s"));
  UniqueFd server = std::move(*accept_from(listener.get()));
  UniqueFd sent(memfd_create("sent", MFD_CLOEXEC));
  const int files[] = {sent.get()};
  ASSERT_TRUE(send_message(client.get(), bytes("x"), {}, files));
  u8 buffer[8];
  Result<Received> got = receive_message(server.get(), buffer);
  ASSERT_TRUE(got);
  ASSERT_EQ(got->files.size(), 1u);
  struct stat a {
  }, b{};
  fstat(sent.get(), &a);
  fstat(got->files[0].get(), &b);
  EXPECT_EQ(a.st_ino, b.st_ino);
  EXPECT_TRUE(fcntl(got->files[0].get(), F_GETFD) & FD_CLOEXEC);
}

TEST_F(SocketTest, ReportsTruncationAndHangUp) {
  UniqueFd listener = std::move(*listen_on(directory + "/s"));
  UniqueFd client = std::move(*connect_to(directory + "/s"));
  UniqueFd server = std::move(*accept_from(listener.get()));
  ASSERT_TRUE(send_message(client.get(), bytes("longer than that")));
  u8 buffer[4];
  EXPECT_TRUE(receive_message(server.get(), buffer)->truncated);
  client.reset();
  EXPECT_EQ(receive_message(server.get(), buffer)->size, 0u);
  EXPECT_EQ(send_message(server.get(), bytes("x")).error().code, EPIPE);
}

TEST_F(SocketTest, KnowsThePeerAndSeesItEnd) {
  UniqueFd listener = std::move(*listen_on(directory + "/s"));
  int hold[2];
  ASSERT_EQ(pipe(hold), 0);
  const pid_t child = fork();
  if (child == 0) {
    close(hold[1]);
    Result<UniqueFd> connection = connect_to(directory + "/s");
    char byte;
    _exit(connection && read(hold[0], &byte, 1) == 0 ? 0 : 1);
  }
  close(hold[0]);
  UniqueFd server = std::move(*accept_from(listener.get()));
  Result<PeerIdentity> peer = identify_peer(server.get());
  ASSERT_TRUE(peer);
  EXPECT_EQ(peer->pid, child);
  EXPECT_EQ(peer->uid, geteuid());
  EXPECT_EQ(peer->gid, getegid());
  pollfd dead = {peer->pidfd.get(), POLLIN, 0};
  EXPECT_EQ(poll(&dead, 1, 0), 0);
  close(hold[1]);
  EXPECT_EQ(poll(&dead, 1, -1), 1);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST_F(SocketTest, SaysWhatFailed) {
  EXPECT_EQ(connect_to(directory + "/none").error().code, ENOENT);
  { UniqueFd listener = std::move(*listen_on(directory + "/s")); }
  EXPECT_EQ(connect_to(directory + "/s").error().code, ECONNREFUSED);
  EXPECT_EQ(listen_on(directory + "/s").error().code, EADDRINUSE);
}

}  // namespace
}  // namespace gp
