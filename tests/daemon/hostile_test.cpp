// Clients that mean harm, or are broken: they disturb only themselves.
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <cstring>
#include <random>

#include "base/socket.h"
#include "daemon/daemon_support.h"
#include "daemon/slow_to_close.h"

namespace gp::daemon {
namespace {

class Hostile : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    start_daemon("connections_per_user = 40\nmessages_per_second = 100\n");
    pid_ = daemon_pid();
  }
  void TearDown() override {
    if (!HasFailure()) {
      EXPECT_EQ(daemon_pid(), pid_) << "the daemon has died of it";
    }
    DaemonTest::TearDown();
  }
  UniqueFd connect() {
    auto connection = connect_to(socket());
    EXPECT_TRUE(connection);
    return connection ? std::move(*connection) : UniqueFd();
  }
  // Whether the daemon closes the connection.
  static bool is_cut_off(const UniqueFd& connection) {
    char buffer[4096];
    for (;;) {
      pollfd ready = {connection.get(), POLLIN, 0};
      if (::poll(&ready, 1, 10'000) != 1) {
        return false;
      }
      if (::recv(connection.get(), buffer, sizeof buffer, MSG_DONTWAIT) <= 0) {
        return true;
      }
    }
  }
  static void send(const UniqueFd& connection, std::span<const u8> bytes) {
    ::send(connection.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }

 private:
  pid_t pid_ = 0;
};

TEST_F(Hostile, GarbageIsCutOff) {
  std::mt19937 random(3);
  for (const std::size_t size : {1UL, 15UL, 16UL, 100UL, 5000UL}) {
    const UniqueFd connection = connect();
    std::vector<u8> bytes(size);
    for (u8& byte : bytes) {
      byte = static_cast<u8>(random());
    }
    send(connection, bytes);
    EXPECT_TRUE(is_cut_off(connection)) << size;
  }
}

TEST_F(Hostile, AMessageLargerThanAnyIsCutOff) {
  const UniqueFd connection = connect();
  std::vector<u8> bytes(100'000);
  const wire::Header header{.kind = wire::Kind::status, .size = 100'000};
  std::memcpy(bytes.data(), &header, sizeof header);
  send(connection, bytes);
  EXPECT_TRUE(is_cut_off(connection));
}

TEST_F(Hostile, EveryKindWithTheWrongLengthIsRefused) {
  for (u16 kind = 0; kind < 128; ++kind) {
    const UniqueFd connection = connect();
    std::vector<u8> bytes(sizeof(wire::Header) + 3);
    const wire::Header header{.kind = static_cast<wire::Kind>(kind),
                              .size = static_cast<u32>(bytes.size())};
    std::memcpy(bytes.data(), &header, sizeof header);
    send(connection, bytes);
  }
  EXPECT_EQ(status()["jobs"].size(), 0U);
}

TEST_F(Hostile, AFloodIsCutOff) {
  const UniqueFd connection = connect();
  const wire::Header header{.kind = wire::Kind::resume, .size = sizeof(wire::Header)};
  for (int i = 0; i < 100'000; ++i) {
    if (::send(connection.get(), &header, sizeof header, MSG_NOSIGNAL) < 0) {
      break;
    }
  }
  EXPECT_TRUE(is_cut_off(connection));
}

TEST_F(Hostile, WhoDoesNotReadIsCutOff) {
  const UniqueFd connection = connect();
  const wire::Header header{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
  for (int i = 0; i < 100'000; ++i) {
    if (::send(connection.get(), &header, sizeof header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 &&
        errno != EAGAIN) {
      break;
    }
  }
  EXPECT_TRUE(is_cut_off(connection));
}

TEST_F(Hostile, OneUserCannotTakeAllConnections) {
  std::vector<UniqueFd> connections;
  for (int i = 0; i < 60; ++i) {
    connections.push_back(connect());
  }
  EXPECT_TRUE(is_cut_off(connections.back()));
  connections.clear();
  EXPECT_EQ(status()["schema_version"], 1);  // and it recovers
}

TEST_F(Hostile, FilesAreNotTaken) {
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  const int files[] = {file.get(), file.get(), file.get(), file.get(), file.get(), file.get()};
  for (const std::size_t count : {1UL, 2UL, 6UL}) {
    const UniqueFd connection = connect();
    const bool sent =
        send_with_files(connection.get(), wire::bytes_of(wire::Hello{}), {files, count});
    EXPECT_TRUE(!sent || is_cut_off(connection)) << count;
  }
}

// To close it takes as long as its sender has chosen.
TEST_F(Hostile, AFileThatIsSlowToCloseKeepsNobodyWaiting) {
  const UniqueFd connection = connect();
  SlowToClose slow;
  slow.send_to(connection.get(), wire::bytes_of(u8{7}));
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client && client->set_timeout(std::chrono::seconds(10)));
  EXPECT_TRUE(client->text(wire::Kind::status)) << "the daemon waits for it";
}

TEST_F(Hostile, NamesAreShownWithoutControlCharacters) {
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  wire::SetJob set;
  wire::set_text(set.job, "a\nforged line \033[31m");
  ASSERT_TRUE(client->ask(set));
  EXPECT_EQ(job_of(::getpid())["job"], "a?forged line ?[31m");
}

// The limit is the daemon's: it cannot be raised again.
TEST_F(Hostile, WithoutDescriptorsItIsThereWhenSomeAreFree) {
  rlimit before{}, few{40, 40};
  ASSERT_EQ(::prlimit(daemon_pid(), RLIMIT_NOFILE, &few, &before), 0);
  {
    std::vector<UniqueFd> connections;
    for (int i = 0; i < 60; ++i) {
      connections.push_back(connect());
    }
  }
  EXPECT_EQ(status()["schema_version"], 1);
}

TEST_F(Hostile, ProcessesOfNobodyCannotBeGoverned) {
  auto client = wire::Client::connect(socket());
  ASSERT_TRUE(client);
  wire::Suspend suspend;
  suspend.pid = 1;
  suspend.duration_ns = 1'000'000;
  EXPECT_FALSE(client->ask(suspend));
  suspend.pid = 0;
  suspend.duration_ns = ~u64{0};
  EXPECT_FALSE(client->ask(suspend));
  wire::SetJob set;
  set.priority = 99;
  EXPECT_FALSE(client->ask(set));
}

}  // namespace
}  // namespace gp::daemon
