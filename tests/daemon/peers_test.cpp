// The socket's side of the daemon, without the rest.
#include "daemon/peers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "daemon/page_mapping.h"
#include "daemon/slow_to_close.h"
#include "support/temporary_directory.h"

namespace gp::daemon {
namespace {

using namespace std::chrono_literals;

// As before Linux 6.16, where whatever is sent arrives: it is not received, and what closes it is
// not the loop.
TEST(PeersBeforeLinux616, AFileThatIsSlowToCloseKeepsNobodyWaiting) {
  const TemporaryDirectory directory;
  auto loop = Loop::create();
  ASSERT_TRUE(loop);
  int messages = 0, closed = 0;
  auto peers = Peers::create(
      **loop, directory.file("socket"), {}, {},
      [&](Peer&, const wire::Header&, std::span<const u8>) { return ++messages > 0; },
      [&](PeerId) { ++closed; }, Peers::FilesRefused::by_hand);
  ASSERT_TRUE(peers) << peers.error().message();
  const auto before = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) {
    const auto connection = connect_to(directory.file("socket"));
    ASSERT_TRUE(connection);
    const wire::Header header{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
    ASSERT_TRUE(send_message(connection->get(), wire::bytes_of(header)));
    for (int sent = 0; sent < 3; ++sent) {  // one to be found, others that are never looked at
      SlowToClose slow;
      slow.send_to(connection->get(), wire::bytes_of(header));
    }
    while (closed == i) {
      (*loop)->set_timer((*peers)->resume(monotonic_ns()));
      ASSERT_TRUE((*loop)->run_once());
    }
  }
  peers->reset();  // waits for what is still being closed
  EXPECT_EQ(messages, 20) << "only those without a file";
  EXPECT_LT(std::chrono::steady_clock::now() - before, 50s) << "each lingers for a minute";
}

// Each of them stays below what a connection may leave unread; together they are a user's.
TEST(Peers, WhoDoNotReadHaveBoundedMemoryTogether) {
  constexpr std::size_t kPeers = 12, kBytesEach = 3 << 20, kBytesOfUser = 16 << 20;
  const TemporaryDirectory directory;
  auto loop = Loop::create();
  ASSERT_TRUE(loop);
  std::vector<PeerId> ids;
  std::size_t closed = 0;
  auto peers = Peers::create(
      **loop, directory.file("socket"), {}, {},
      [&](const Peer& peer, const wire::Header&, std::span<const u8>) {
        ids.push_back(peer.id);
        return true;
      },
      [&](PeerId) { ++closed; });
  ASSERT_TRUE(peers) << peers.error().message();
  std::vector<UniqueFd> connections;
  for (std::size_t i = 0; i < kPeers; ++i) {
    auto connection = connect_to(directory.file("socket"));
    ASSERT_TRUE(connection);
    const wire::Header header{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
    ASSERT_TRUE(send_message(connection->get(), wire::bytes_of(header)));
    connections.push_back(std::move(*connection));
  }
  const auto run = [&] {
    (*loop)->set_timer((*peers)->resume(monotonic_ns()));
    (*loop)->post([] {});
    ASSERT_TRUE((*loop)->run_once());
  };
  while (ids.size() < kPeers) {
    run();
  }
  const std::string answer(kBytesEach, 'x');
  for (const PeerId id : ids) {
    (*peers)->send_text(id, answer, 1);
    run();
  }
  EXPECT_GT(closed, 0U) << "they may take as much as they like";
  EXPECT_GT((*peers)->count(), 0U) << "and those who keep within it are cut off, too";
  constexpr std::size_t kInSockets = 1 << 20;  // more than the kernel keeps for one
  EXPECT_LE((*peers)->count() * (kBytesEach - kInSockets), kBytesOfUser);
}

TEST(AgentsPage, NobodyCanChangeItsSize) {
  const auto page = PageMapping::create(1);
  ASSERT_TRUE(page);
  EXPECT_NE(::ftruncate((*page)->memfd(), 0), 0);
  EXPECT_NE(::ftruncate((*page)->memfd(), 1 << 20), 0);
  EXPECT_TRUE(::fcntl((*page)->memfd(), F_GET_SEALS) & F_SEAL_SEAL);
}

}  // namespace
}  // namespace gp::daemon
