// Agents that cannot work: the daemon says so, once, and where people look.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/socket.h"
#include "daemon/daemon_support.h"

namespace gp::daemon {
namespace {

class RefusedAgent : public DaemonTest {
 protected:
  void SetUp() override {
    DaemonTest::SetUp();
    start_daemon();
    auto connection = connect_to(socket());
    ASSERT_TRUE(connection);
    connection_ = std::move(*connection);
  }
  template <class Message>
  void say(const Message& message) {
    ASSERT_GT(::send(connection_.get(), &message, sizeof message, MSG_NOSIGNAL), 0);
  }
  bool is_cut_off() const {
    char byte = 0;
    return ::recv(connection_.get(), &byte, sizeof byte, 0) == 0;
  }
  nlohmann::json refusal() {
    const auto job = job_of(::getpid());
    return job.contains("processes") ? job["processes"][0]["agent_refused"] : nlohmann::json();
  }
  std::size_t times_logged() const {
    std::size_t count = 0;
    const std::string text = log();
    for (std::size_t at = 0; (at = text.find("agent refused:", at)) != std::string::npos; ++at) {
      ++count;
    }
    return count;
  }

 private:
  UniqueFd connection_;
};

TEST_F(RefusedAgent, IsShownWithItsReasonAndWhoItIs) {
  wire::Refused refused;
  refused.work_class = wire::code_of(WorkClass::offline);
  wire::set_text(refused.job, "training");
  wire::set_text(refused.reason, "a table of version 9");
  say(refused);
  ASSERT_TRUE(eventually([&] { return refusal() == "a table of version 9"; }));
  const auto job = job_of(::getpid());
  EXPECT_EQ(job["job"], "training");
  EXPECT_EQ(job["class"], "offline");
  EXPECT_EQ(job["processes"][0]["agent"], false);
}

TEST_F(RefusedAgent, IsLoggedOnceAndWithoutControlCharacters) {
  wire::Refused refused;
  for (const char* reason : {"first \033[31m", "second", "third"}) {
    wire::set_text(refused.reason, reason);
    say(refused);
  }
  ASSERT_TRUE(eventually([&] { return refusal() == "third"; }));
  EXPECT_EQ(times_logged(), 1U) << log();
  EXPECT_EQ(log().find('\033'), std::string::npos);
  EXPECT_NE(log().find("agent refused: first ?[31m"), std::string::npos) << log();
}

TEST_F(RefusedAgent, OfAnotherVersionOfTheMessagesIsShown) {
  wire::Hello hello;
  hello.header.version = wire::kVersion + 1;
  say(hello);
  ASSERT_TRUE(eventually([&] { return refusal().is_string(); }));
  EXPECT_NE(refusal().get<std::string>().find(
                fmt::format("version {} of the messages", wire::kVersion + 1)),
            std::string::npos)
      << refusal();
  EXPECT_EQ(times_logged(), 1U) << log();
}

TEST_F(RefusedAgent, IsNotMadeOfAClientOfAnotherVersion) {
  wire::Header question{.kind = wire::Kind::status, .size = sizeof(wire::Header)};
  question.version = wire::kVersion + 1;
  say(question);
  ASSERT_TRUE(is_cut_off());
  EXPECT_EQ(status()["jobs"].size(), 0U);
  EXPECT_EQ(times_logged(), 0U) << log();
}

}  // namespace
}  // namespace gp::daemon
