// The gate lets only a window of packets run; the others wait in the ring.
#include <thread>

#include "agent/agent_support.h"

namespace gp::agent {
namespace {

class Gate : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    listen();
    // A small ring and few signals, so that they are exhausted soon.
    puppet_.emplace(socket(), Settings{{"GPREEMPT_GATE", "1"},
                                       {"ROC_AQL_QUEUE_SIZE", "256"},
                                       {"ROC_SIGNAL_POOL_SIZE", "32"}});
    ASSERT_EQ(puppet_->ask("work"), "ok");
    agent_ = accept();
    agent_.welcome(wire::code_of(WorkClass::offline), false, 60'000'000'000);
    ASSERT_TRUE(agent_.can(Mechanism::gate));
  }
  wire::Done set(u32 open, u32 packets, u64 span_ns = 0) {
    wire::GateCommand command;
    command.open = open;
    command.window_packets = packets;
    command.window_ns = span_ns;
    agent_.send(command.header);
    return agent_.expect<wire::Done>(wire::Kind::done);
  }
  long number(const std::string& question) { return std::stol(puppet_->ask(question)); }
  // Nothing can be waited for when the claim is that nothing happens: look for a while.
  bool stays(const std::string& question, long value) {
    for (int i = 0; i < 10; i++) {
      if (number(question) != value) {
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
    }
    return true;
  }

  std::optional<Puppet> puppet_;
  Connection agent_;
};

TEST_F(Gate, a_shut_gate_holds_packets_also_when_the_run_list_is_mapped_again) {
  const wire::Done shut = set(0, 0);
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

TEST_F(Gate, ten_thousand_stops_change_no_bit_of_the_results) {
  int stops = 0, runs = 0;
  for (; stops < 10'000; runs++) {
    puppet_->say("work");
    // A run takes about as long as this; one that ends before waits to be asked.
    for (int i = 0; i < 250; i++, stops++) {
      ASSERT_EQ(agent_.stop(Mechanism::gate).error, 0) << stops;
      ASSERT_EQ(agent_.start().error, 0) << stops;
    }
    ASSERT_EQ(puppet_->line(), "ok") << "run " << runs;
  }
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

TEST_F(Gate, a_window_by_number_is_exact) {
  ASSERT_EQ(set(0, 5).error, 0);
  ASSERT_EQ(puppet_->ask("short row"), "ok");  // of 12, which waits at its second packet
  // A window that the GPU has not come to yet would be taken back.
  ASSERT_TRUE(eventually([&] { return number("row left") == 11; }));
  ASSERT_TRUE(eventually([&] { return number("row submitted") == 12; }));
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("row go"), "ok");
  EXPECT_TRUE(eventually([&] { return number("row left") == 7; }));
  EXPECT_TRUE(stays("row left", 7));
  ASSERT_EQ(set(0, 5).error, 0);
  EXPECT_TRUE(eventually([&] { return number("row left") == 0; }));
}

TEST_F(Gate, opens_for_a_program_that_waits_with_a_place_in_the_ring_reserved) {
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("reserve"), "ok");
  ASSERT_EQ(set(1, 0).error, 0);
  EXPECT_EQ(puppet_->ask("use reserved"), "ok");
}

TEST_F(Gate, lets_a_program_go_on_that_has_run_out_of_signals_and_ring) {
  for (const u32 packets : {0u, 3u}) {
    ASSERT_EQ(set(0, 0).error, 0);
    puppet_->say("burst");
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // wherever it is by then
    ASSERT_EQ(set(packets == 0, packets).error, 0);
    EXPECT_EQ(puppet_->line(), "ok");
  }
}

TEST_F(Gate, holds_a_program_whose_ring_is_full_and_loses_nothing_of_it) {
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("long row"), "ok");
  ASSERT_EQ(puppet_->ask("row go"), "ok");
  ASSERT_TRUE(eventually([&] { return number("row submitted") >= 32; }));
  EXPECT_TRUE(stays("row left", 1000));
  EXPECT_LT(number("row submitted"), 1000);
  ASSERT_EQ(set(1, 0).error, 0);
  EXPECT_TRUE(eventually([&] { return number("row left") == 0; }));
}

TEST_F(Gate, holds_every_queue_of_a_program_with_many) {
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("many queues"), "ok");
  EXPECT_TRUE(stays("queues left", 80));
  const wire::Done opened = set(1, 0);
  ASSERT_EQ(opened.error, 0);
  EXPECT_GT(opened.queues, 80u);
  EXPECT_TRUE(eventually([&] { return number("queues left") == 0; }));
}

TEST_F(Gate, can_be_used_again_after_queues_were_destroyed_with_packets_held) {
  for (int round = 0; round < 2; round++) {
    ASSERT_EQ(set(0, 0).error, 0);
    ASSERT_EQ(puppet_->ask("two queues"), "ok");
    ASSERT_EQ(puppet_->ask("no queues"), "ok");
    ASSERT_EQ(puppet_->ask("two queues"), "ok");
    EXPECT_TRUE(stays("queues left", 2)) << round;
    ASSERT_EQ(set(0, 1).error, 0);
    EXPECT_TRUE(eventually([&] { return number("queues left") == 0; })) << round;
    ASSERT_EQ(puppet_->ask("no queues"), "ok");
  }
}

TEST_F(Gate, opens_for_a_program_that_ends) {
  ASSERT_EQ(set(0, 0).error, 0);
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  ASSERT_EQ(puppet_->ask("short row"), "ok");
  ASSERT_TRUE(eventually([&] { return number("row submitted") == 12; }));
  puppet_->say("exit");
  EXPECT_EQ(puppet_->wait(), 0);
}

TEST_F(Gate, is_a_way_to_stop) {
  ASSERT_EQ(agent_.stop(Mechanism::gate).error, 0);
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
