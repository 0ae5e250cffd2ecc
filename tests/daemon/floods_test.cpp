// One user asks for more than there is: the others are served all the same.
#include <sys/socket.h>

#include <atomic>
#include <thread>

#include "daemon/other_users.h"

namespace gp::daemon {
namespace {

using namespace std::chrono_literals;

class Floods : public OtherUsersTest {
 protected:
  void SetUp() override {
    OtherUsersTest::SetUp();
    if (!IsSkipped()) {
      start_daemon("messages_per_second = 1000000\n");  // nobody is cut off
      pid_ = daemon_pid();
    }
  }
  // Bob sends `message` on many connections as fast as the daemon takes it, while alice asks for
  // the status. Whether she always gets it before the patience of a client ends.
  bool others_are_served_during(std::span<const u8> message) {
    const Stranger alice({.uid = kAlice}), bob({.uid = kBob});
    std::vector<UniqueFd> connections;
    for (int i = 0; i < 100; ++i) {
      connections.push_back(bob.connect(socket()));
    }
    std::atomic<bool> enough = false;
    std::thread flood([&] {
      char answers[65536];
      while (!enough) {
        for (const UniqueFd& connection : connections) {
          for (int i = 0; i < 8; ++i) {
            ::send(connection.get(), message.data(), message.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
          }
          while (::recv(connection.get(), answers, sizeof answers, MSG_DONTWAIT) > 0) {
          }
        }
      }
    });
    const UniqueFd connection = alice.connect(socket());
    const timeval patience = {1, 0};
    ::setsockopt(connection.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    bool served = true;
    for (int i = 0; i < 100 && served; ++i) {
      served = is_answered(connection);
    }
    enough = true;
    flood.join();
    return served && daemon_pid() == pid_;
  }

 private:
  static bool is_answered(const UniqueFd& connection) {
    const wire::Header question{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
    char answer[65536];
    return ::send(connection.get(), &question, sizeof question, MSG_NOSIGNAL) > 0 &&
           ::recv(connection.get(), answer, sizeof answer, 0) > 0;
  }
  pid_t pid_ = 0;
};

TEST_F(Floods, OfQuestionsAboutTheStatus) {
  const wire::Header question{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
  EXPECT_TRUE(others_are_served_during(wire::bytes_of(question)));
}

TEST_F(Floods, OfQuestionsForTheTrace) {
  const wire::Header question{.kind = wire::Kind::trace, .size = sizeof(wire::Header)};
  EXPECT_TRUE(others_are_served_during(wire::bytes_of(question)));
}

TEST_F(Floods, OfRequestsThatNameAProcess) {
  wire::Suspend suspend;
  suspend.pid = 1;
  suspend.duration_ns = 1;
  EXPECT_TRUE(others_are_served_during(wire::bytes_of(suspend)));
}

TEST_F(Floods, OfClaimsAboutItself) {
  wire::SetJob claim;
  wire::set_text(claim.job, "mine");
  EXPECT_TRUE(others_are_served_during(wire::bytes_of(claim)));
}

}  // namespace
}  // namespace gp::daemon
