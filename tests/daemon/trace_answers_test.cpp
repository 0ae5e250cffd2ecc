// Whoever asks for the trace gets all of it, and nobody has to wait for that.
#include "daemon/trace_answers.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "client/client.h"
#include "support/temporary_directory.h"

namespace gp::daemon {
namespace {

class TraceAnswersTest : public testing::Test {
 protected:
  void SetUp() override {
    auto loop = Loop::create();
    ASSERT_TRUE(loop);
    loop_ = std::move(*loop);
    answers_ = std::make_unique<TraceAnswers>(*loop_, trace_);
    auto peers = Peers::create(
        *loop_, directory_ + "/socket", {}, {},
        [this](Peer& peer, const wire::Header& header, std::span<const u8>) {
          if (header.kind == wire::Kind::trace) {
            answers_->begin(peer.id, header.sequence);
          } else {
            peers_->send_result(peer.id, header.sequence, 0, "");
          }
          return true;
        },
        [this](PeerId id) { answers_->forget(id); });
    ASSERT_TRUE(peers);
    peers_ = std::move(*peers);
    answers_->set_peers(*peers_);
  }
  void TearDown() override { peers_.reset(); }

  // Events are added until the ring has been filled more than once.
  void fill() {
    for (u64 i = 0; i < sched::Trace::kEvents + 100; ++i) {
      trace_.add({.time_ns = i, .kind = sched::TraceKind::busy, .job = 1'000'000'000 + i});
    }
  }
  UniqueFd connect() {
    auto socket = connect_to(directory_ + "/socket");
    EXPECT_TRUE(socket);
    turn();  // it is accepted
    return std::move(*socket);
  }
  static void ask(const UniqueFd& socket, wire::Kind kind) {
    const wire::Header header{.kind = kind, .size = sizeof header, .sequence = 7};
    EXPECT_TRUE(send_message(socket.get(), wire::bytes_of(header)));
  }
  void turn() { ASSERT_TRUE(loop_->run_once()); }
  // What has come; whether the answer is whole is in `whole`.
  static std::string received(const UniqueFd& socket, bool& whole) {
    std::string text;
    std::vector<u8> buffer(wire::kMaxMessage);
    for (;;) {
      const ssize_t size = ::recv(socket.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
      if (size <= 0) {
        return text;
      }
      const auto bytes = static_cast<std::size_t>(size);
      text.append(reinterpret_cast<char*>(buffer.data()) + sizeof(wire::Header),
                  bytes - sizeof(wire::Header));
      whole = bytes < wire::kMaxMessage;
    }
  }

  const TemporaryDirectory temporary_;
  const std::string directory_ = temporary_.path();
  sched::Trace trace_;
  std::unique_ptr<Loop> loop_;
  std::unique_ptr<TraceAnswers> answers_;
  std::unique_ptr<Peers> peers_;
};

TEST_F(TraceAnswersTest, TakeManyTurnsAndLeaveNothingOut) {
  fill();
  const UniqueFd client = connect();
  ask(client, wire::Kind::trace);
  std::string text;
  bool whole = false;
  std::size_t turns = 0;
  for (; !whole; ++turns) {
    turn();
    text += received(client, whole);
  }
  EXPECT_GT(turns, sched::Trace::kEvents / TraceAnswers::kEventsPerTurn);
  std::istringstream lines(text);
  std::string line;
  u64 number = 100;  // the first that has not been overwritten
  for (; std::getline(lines, line); ++number) {
    const auto event = nlohmann::json::parse(line, nullptr, false);
    ASSERT_EQ(event.value("number", u64{0}), number) << line;
  }
  EXPECT_EQ(number, trace_.end());
}

TEST_F(TraceAnswersTest, LetOthersBeServedInBetween) {
  fill();
  const UniqueFd curious = connect(), urgent = connect();
  ask(curious, wire::Kind::trace);
  ask(urgent, wire::Kind::online_begin);
  bool answered = false, whole = false;
  while (!answered && !whole) {
    turn();
    received(urgent, answered);
    received(curious, whole);
  }
  EXPECT_TRUE(answered);
  EXPECT_FALSE(whole);
}

TEST_F(TraceAnswersTest, EndWithTheEventsOfTheMomentWhenTheyWereAskedFor) {
  trace_.add({});
  const UniqueFd client = connect();
  ask(client, wire::Kind::trace);
  turn();  // the question
  fill();
  bool whole = false;
  std::string text;
  while (!whole) {
    turn();
    text += received(client, whole);
  }
  EXPECT_EQ(text, "") << "all that was asked for has been overwritten";
}

TEST_F(TraceAnswersTest, AreGivenToEachOneAtATime) {
  fill();
  EXPECT_TRUE(answers_->begin(1, 7));
  EXPECT_FALSE(answers_->begin(1, 8)) << "what is owed to one peer would have no bound";
  EXPECT_TRUE(answers_->begin(2, 7));
  answers_->forget(1);
  EXPECT_TRUE(answers_->begin(1, 9));
}

TEST_F(TraceAnswersTest, AreForgottenWhenTheAskerGoes) {
  fill();
  UniqueFd client = connect();
  ask(client, wire::Kind::trace);
  turn();
  client.reset();
  const UniqueFd other = connect();
  ask(other, wire::Kind::trace);
  bool whole = false;
  while (!whole) {
    turn();
    received(other, whole);
  }
  EXPECT_EQ(peers_->count(), 1);
}

}  // namespace
}  // namespace gp::daemon
