// The gate lets only a window of packets onto the ring that the GPU reads.
#include <thread>

#include "agent/agent_support.h"

namespace gp::agent {
namespace {

using control::ClassCode;

class Gate : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    listen();
    puppet_.emplace(socket(), Settings{{"GPREEMPT_GATE", "1"}});
    ASSERT_EQ(puppet_->ask("work"), "ok");
    agent_ = accept();
    agent_.welcome(ClassCode::offline, false, 60'000'000'000);
    ASSERT_TRUE(agent_.hello().abilities & control::can_gate);
  }
  control::Done set(u32 open, u32 packets, u64 span_ns = 0) {
    control::GateCommand command;
    command.open = open;
    command.window_packets = packets;
    command.window_ns = span_ns;
    agent_.send(command.header);
    return agent_.expect<control::Done>(control::Kind::done);
  }

  std::optional<Puppet> puppet_;
  Connection agent_;
};

TEST_F(Gate, a_shut_gate_holds_packets_also_when_the_run_list_is_mapped_again) {
  const control::Done shut = set(0, 0);
  ASSERT_EQ(shut.error, 0);
  EXPECT_GE(shut.queues, 1u);
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  EXPECT_EQ(puppet_->ask("value"), "0");
  {
    // Each queue that another process makes or destroys has the driver map everything anew.
    Puppet other(directory() + "/nobody");
    ASSERT_EQ(other.ask("default"), "ok");
    ASSERT_EQ(other.ask("stream"), "ok");
  }
  EXPECT_TRUE(puppet_->stands_still());
  EXPECT_EQ(puppet_->ask("value"), "0");
  ASSERT_EQ(set(1, 0).error, 0);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
}

TEST_F(Gate, a_window_changes_no_bit_of_the_results) {
  for (const u32 packets : {1u, 5u}) {
    ASSERT_EQ(set(0, packets).error, 0);
    EXPECT_EQ(puppet_->ask("work"), "ok") << packets;
    EXPECT_EQ(puppet_->ask("copies"), "ok") << packets;
    EXPECT_EQ(puppet_->ask("graph"), "ok") << packets;
  }
  ASSERT_EQ(set(0, 64, 1'000'000).error, 0);
  EXPECT_EQ(puppet_->ask("threads"), "ok");
}

TEST_F(Gate, opening_and_shutting_at_any_moment_loses_nothing) {
  for (int run = 0; run < 2; run++) {
    puppet_->say("work");
    for (int round = 0; round < 10; round++) {
      ASSERT_EQ(set(0, 0).error, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(200 * round));
      ASSERT_EQ(set(round % 2, round % 2 == 0 ? 2 : 0).error, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
    ASSERT_EQ(set(1, 0).error, 0);
    EXPECT_EQ(puppet_->line(), "ok");
  }
}

TEST_F(Gate, is_a_way_to_stop) {
  ASSERT_EQ(agent_.stop(control::Method::gate).error, 0);
  EXPECT_EQ(agent_.page().stopped, 1u);
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  EXPECT_TRUE(puppet_->stands_still());
  ASSERT_EQ(agent_.start().error, 0);
  EXPECT_EQ(agent_.page().stopped, 0u);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
}

TEST_F(Gate, opens_when_the_connection_ends) {
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  agent_.close();
  EXPECT_EQ(puppet_->ask("progress"), "ok");
}

}  // namespace
}  // namespace gp::agent
