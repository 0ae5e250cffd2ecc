// Questions to a server on a socket: one of the test's own, which answers what it was told to.
#include "llm/ask.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/unique_fd.h"
#include "support/temporary_directory.h"

namespace gp::llm {
namespace {

using namespace std::chrono_literals;

// Answers one request with these bytes, and then ends the connection or keeps it.
class OneAnswer {
 public:
  OneAnswer(const std::string& path, std::string bytes, bool ends) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    listener_.reset(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_.get(), 1), 0);
    thread_ = std::thread([this, bytes = std::move(bytes), ends] {
      connection_.reset(::accept(listener_.get(), nullptr, nullptr));
      char buffer[4096];
      while (asked_.find("\r\n\r\n") == std::string::npos) {
        const ssize_t got = ::recv(connection_.get(), buffer, sizeof buffer, 0);
        if (got <= 0) {
          return;
        }
        asked_.append(buffer, static_cast<std::size_t>(got));
      }
      ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (ends) {
        ::shutdown(connection_.get(), SHUT_RDWR);
      }
    });
  }
  ~OneAnswer() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
  }
  std::string asked() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    thread_.join();
    thread_ = std::thread([] {});
    return asked_;
  }

 private:
  UniqueFd listener_, connection_;
  std::string asked_;
  std::thread thread_;
};

class Asking : public testing::Test {
 protected:
  static std::string http(const std::string& status, const std::string& body) {
    return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  }
  const TemporaryDirectory folder_;
  const std::string socket_ = folder_.file("llama.sock");
};

constexpr char kAnswer[] =
    "data: {\"content\":\"a\",\"tokens\":[1],\"stop\":false}\n\n"
    "data: {\"content\":\"b\",\"tokens\":[2],\"stop\":false}\n\n"
    "data: {\"content\":\"\",\"tokens\":[],\"stop\":true}\n\n";

TEST_F(Asking, GivesTheTextAndWhenEachTokenCame) {
  OneAnswer server(socket_, http("200 OK", kAnswer), true);
  const auto answer = ask(socket_, {"why?", 2, 1}, 10s);
  ASSERT_TRUE(answer) << answer.error().message();
  EXPECT_EQ(answer->text, "ab");
  EXPECT_EQ(answer->tokens, (std::vector<i64>{1, 2}));
  EXPECT_EQ(answer->token_ns.size(), 2u);
  EXPECT_LE(answer->token_ns[0], answer->token_ns[1]);
  EXPECT_EQ(server.asked().find("POST /completion HTTP/1.1\r\n"), 0u);
}

TEST_F(Asking, AServerThatRefusesIsTold) {
  const OneAnswer server(socket_, http("400 Bad Request", "{\"error\":\"too long\"}"), true);
  const auto answer = ask(socket_, {"why?", 2, 1}, 10s);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().code, EREMOTEIO);
  EXPECT_NE(answer.error().what.find("too long"), std::string::npos) << answer.error().what;
}

TEST_F(Asking, AnAnswerWithoutItsEndIsAnError) {
  const std::string half(kAnswer, 60);
  const OneAnswer server(socket_, http("200 OK", half), true);
  EXPECT_EQ(ask(socket_, {"why?", 2, 1}, 10s).error().code, EPROTO);
}

TEST_F(Asking, AConnectionThatBreaksIsAnError) {
  const OneAnswer server(socket_, http("200 OK", kAnswer).substr(0, 80), true);
  EXPECT_FALSE(ask(socket_, {"why?", 2, 1}, 10s));
}

TEST_F(Asking, WaitsNoLongerThanTold) {
  const OneAnswer server(socket_, http("200 OK", kAnswer).substr(0, 80), false);
  EXPECT_EQ(ask(socket_, {"why?", 2, 1}, 50ms).error().code, ETIMEDOUT);
}

TEST_F(Asking, NobodyIsAnError) {
  EXPECT_EQ(ask(socket_, {"why?", 2, 1}, 1s).error().code, ENOENT);
  EXPECT_FALSE(is_ready(socket_));
}

TEST_F(Asking, AServerIsReadyWhenItsHealthIsOk) {
  const OneAnswer server(socket_, http("200 OK", "{\"status\":\"ok\"}"), true);
  EXPECT_TRUE(is_ready(socket_));
}

TEST_F(Asking, AServerThatLoadsItsModelIsNotReady) {
  const OneAnswer server(socket_, http("503 Service Unavailable", "{}"), true);
  EXPECT_FALSE(is_ready(socket_));
}

}  // namespace
}  // namespace gp::llm
