// The agent stops and starts the queues of its process for the daemon.
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <random>
#include <thread>

#include "agent/agent_support.h"

namespace gp::agent {
namespace {

class Stop : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    listen();
  }
  // A program with a running kernel, and its agent's connection.
  void start_counting() {
    ASSERT_EQ(puppet_.emplace(socket()).ask("launch"), "ok");
    agent_ = accept();
    agent_.welcome(wire::code_of(WorkClass::offline), false);
    ASSERT_EQ(puppet_->ask("progress"), "ok");
  }

  std::optional<Puppet> puppet_;
  Connection agent_;
};

TEST_F(Stop, by_self_debug_holds_a_running_kernel_until_the_start) {
  start_counting();
  ASSERT_TRUE(agent_.can(Mechanism::self_debug));
  for (int round = 0; round < 5; round++) {
    const wire::Done stopped = agent_.stop(Mechanism::self_debug);
    ASSERT_EQ(stopped.error, 0);
    EXPECT_GE(stopped.queues, 1u);
    EXPECT_LE(stopped.received_ns, stopped.driver_enter_ns);
    EXPECT_LT(stopped.driver_enter_ns, stopped.driver_leave_ns);
    EXPECT_EQ(agent_.page().stopped, 1u);
    EXPECT_TRUE(puppet_->stands_still());
    const wire::Done started = agent_.start();
    ASSERT_EQ(started.error, 0);
    EXPECT_EQ(started.queues, stopped.queues);
    EXPECT_EQ(agent_.page().stopped, 0u);
    EXPECT_EQ(puppet_->ask("progress"), "ok");
  }
}

TEST_F(Stop, by_update_queue_holds_a_running_kernel_until_the_start) {
  start_counting();
  for (int round = 0; round < 5; round++) {
    const wire::Done stopped = agent_.stop(Mechanism::update_queue);
    ASSERT_EQ(stopped.error, 0);
    EXPECT_GE(stopped.queues, 1u);
    EXPECT_TRUE(puppet_->stands_still());
    ASSERT_EQ(agent_.start().error, 0);
    EXPECT_EQ(puppet_->ask("progress"), "ok");
  }
}

TEST_F(Stop, the_way_may_change_from_stop_to_stop) {
  start_counting();
  for (const Mechanism mechanism :
       {Mechanism::update_queue, Mechanism::self_debug, Mechanism::update_queue}) {
    ASSERT_EQ(agent_.stop(mechanism).error, 0);
    EXPECT_TRUE(puppet_->stands_still());
    ASSERT_EQ(agent_.start().error, 0);
    EXPECT_EQ(puppet_->ask("progress"), "ok");
  }
}

TEST_F(Stop, by_a_way_that_is_not_offered_fails_and_leaves_the_queues_running) {
  start_counting();
  EXPECT_EQ(agent_.stop(Mechanism::early_ioctl).error, -EOPNOTSUPP);
  EXPECT_EQ(agent_.page().stopped, 0u);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
}

TEST_F(Stop, at_random_moments_changes_no_bit_of_the_results) {
  Puppet puppet(socket());
  ASSERT_EQ(puppet.ask("work"), "ok");
  Connection agent = accept();
  agent.welcome(wire::code_of(WorkClass::offline), false);
  std::mt19937 random(7);
  for (int run = 0; run < 4; run++) {
    puppet.say("work");
    for (int stop = 0; stop < 10; stop++) {
      ASSERT_EQ(agent.stop(stop % 3 == 0 ? Mechanism::update_queue : Mechanism::self_debug).error,
                0);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
      ASSERT_EQ(agent.start().error, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
    }
    EXPECT_EQ(puppet.line(), "ok");
  }
}

TEST_F(Stop, holds_a_queue_that_is_created_meanwhile) {
  start_counting();
  ASSERT_EQ(agent_.stop().error, 0);
  ASSERT_EQ(puppet_->ask("launch another"), "ok");
  EXPECT_TRUE(puppet_->stands_still());
  EXPECT_EQ(puppet_->ask("another value"), "0");
  ASSERT_EQ(agent_.start().error, 0);
  EXPECT_EQ(puppet_->ask("another progress"), "ok");
}

TEST_F(Stop, ends_at_once_when_the_connection_does) {
  start_counting();
  ASSERT_EQ(agent_.stop().error, 0);
  ASSERT_TRUE(puppet_->stands_still());
  agent_.close();
  EXPECT_EQ(puppet_->ask("progress"), "ok");
}

TEST_F(Stop, ends_at_once_when_the_daemon_is_killed) {
  int go[2];
  ASSERT_EQ(pipe(go), 0);
  const pid_t daemon = fork();
  if (daemon == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    Connection agent = accept();
    agent.welcome(wire::code_of(WorkClass::offline), false, 60'000'000'000);
    char byte = 0;
    [[maybe_unused]] const ssize_t told = read(go[0], &byte, 1);
    agent.stop();
    for (;;) pause();
  }
  ASSERT_EQ(puppet_.emplace(socket()).ask("launch"), "ok");
  ASSERT_EQ(puppet_->ask("progress"), "ok");
  ASSERT_EQ(write(go[1], "g", 1), 1);
  EXPECT_TRUE(eventually([&] { return puppet_->stands_still(); }));
  kill(daemon, SIGKILL);
  ASSERT_EQ(waitpid(daemon, nullptr, 0), daemon);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
  ::close(go[0]);
  ::close(go[1]);
}

TEST_F(Stop, whose_lease_is_overdue_is_ended_by_the_agent) {
  start_counting();
  ASSERT_EQ(agent_.stop(Mechanism::self_debug, 200'000'000).error, 0);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
  EXPECT_TRUE(eventually([&] { return agent_.page().overdue_starts == 1; }));
  EXPECT_EQ(agent_.page().stopped, 0u);
}

TEST_F(Stop, whose_lease_never_changes_ends_however_late_its_deadline_is) {
  ASSERT_EQ(puppet_.emplace(socket()).ask("launch"), "ok");
  agent_ = accept();
  agent_.welcome(wire::code_of(WorkClass::offline), false, 100'000'000);
  ASSERT_EQ(agent_.stop(Mechanism::self_debug, ~u64{0} >> 2).error, 0);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
  EXPECT_TRUE(eventually([&] { return agent_.page().overdue_starts == 1; }));
}

// Time passes a hundred times as fast for the program.
TEST_F(Stop, ends_after_a_minute_whatever_lease_the_daemon_gives) {
  const char* others = std::getenv("LD_PRELOAD");
  const std::string loaded = others != nullptr ? others : "";
  const Settings fast = {{"LD_PRELOAD", GPREEMPT_LIB_DIR "/libfast_clock.so:" + loaded}};
  ASSERT_EQ(puppet_.emplace(socket(), fast).ask("launch"), "ok");
  agent_ = accept();
  agent_.welcome(wire::code_of(WorkClass::offline), false, ~u64{0} >> 2);
  ASSERT_EQ(agent_.stop(Mechanism::self_debug, ~u64{0} >> 2).error, 0);
  EXPECT_EQ(puppet_->ask("progress"), "ok");
  EXPECT_TRUE(eventually([&] { return agent_.page().overdue_starts == 1; }));
}

TEST_F(Stop, lasts_as_long_as_the_daemon_extends_the_lease) {
  ASSERT_EQ(puppet_.emplace(socket()).ask("launch"), "ok");
  agent_ = accept();
  constexpr u64 kLease = 1'000'000'000;
  agent_.welcome(wire::code_of(WorkClass::offline), false, kLease);
  ASSERT_EQ(agent_.stop(Mechanism::self_debug, kLease).error, 0);
  const unsigned long before = puppet_->value();
  for (const u64 end = monotonic_ns() + 2 * kLease; monotonic_ns() < end;) {
    agent_.page().lease_deadline_ns = monotonic_ns() + kLease;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(puppet_->value(), before);
  EXPECT_EQ(agent_.page().overdue_starts, 0u);
  ASSERT_EQ(agent_.start().error, 0);
}

TEST_F(Stop, does_not_keep_a_program_from_ending) {
  start_counting();
  ASSERT_EQ(agent_.stop().error, 0);
  puppet_->say("exit");
  EXPECT_EQ(puppet_->wait(), 0);
  EXPECT_TRUE(agent_.ended());
}

TEST_F(Stop, does_not_keep_the_runtime_from_shutting_down) {
  puppet_.emplace(socket());
  ASSERT_EQ(puppet_->ask("default"), "ok");
  agent_ = accept();
  agent_.welcome(wire::code_of(WorkClass::offline), true);
  ASSERT_EQ(agent_.stop().error, 0);
  EXPECT_EQ(puppet_->ask("shut down"), "ok");
  EXPECT_TRUE(agent_.ended());
}

TEST_F(Stop, does_not_reach_what_the_program_execs) {
  ASSERT_EQ(puppet_.emplace(socket()).ask("launch"), "ok");
  agent_ = accept();
  agent_.welcome(wire::code_of(WorkClass::offline), false);
  ASSERT_EQ(agent_.stop().error, 0);
  puppet_->say("exec");
  ASSERT_EQ(puppet_->line(), "ready");
  EXPECT_TRUE(agent_.ended());
  EXPECT_EQ(puppet_->ask("default"), "ok");
}

TEST_F(Stop, works_with_many_threads_that_make_and_destroy_queues) {
  Puppet puppet(socket());
  ASSERT_EQ(puppet.ask("default"), "ok");
  Connection agent = accept();
  agent.welcome(wire::code_of(WorkClass::offline), false);
  puppet.say("threads");
  for (int stop = 0; stop < 40; stop++) {
    ASSERT_EQ(agent.stop().error, 0);
    ASSERT_EQ(agent.start().error, 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_EQ(puppet.line(), "ok");
}

// KFD 1.11: no debugger interface; ids come from what sysfs shows before and after a creation.
class OldDriver : public Stop {};

TEST_F(OldDriver, offers_update_queue_but_not_self_debug) {
  start_counting();
  EXPECT_TRUE(agent_.can(Mechanism::update_queue));
  EXPECT_FALSE(agent_.can(Mechanism::self_debug));
  EXPECT_EQ(agent_.stop(Mechanism::self_debug).error, -EOPNOTSUPP);
}

TEST_F(OldDriver, update_queue_holds_a_running_kernel_until_the_start) {
  start_counting();
  for (int round = 0; round < 5; round++) {
    ASSERT_EQ(agent_.stop(Mechanism::update_queue).error, 0);
    EXPECT_TRUE(puppet_->stands_still());
    ASSERT_EQ(agent_.start().error, 0);
    EXPECT_EQ(puppet_->ask("progress"), "ok");
  }
  ASSERT_FALSE(agent_.created().empty());
  for (const wire::QueueCreated& queue : agent_.created()) {
    EXPECT_NE(queue.queue_id, wire::kUnknownQueue);
    EXPECT_NE(queue.gpu_id, 0u);
  }
}

TEST_F(OldDriver, a_queue_created_meanwhile_is_held_too) {
  start_counting();
  ASSERT_EQ(agent_.stop(Mechanism::update_queue).error, 0);
  ASSERT_EQ(puppet_->ask("launch another"), "ok");
  EXPECT_TRUE(puppet_->stands_still());
  EXPECT_EQ(puppet_->ask("another value"), "0");
  ASSERT_EQ(agent_.start().error, 0);
  EXPECT_EQ(puppet_->ask("another progress"), "ok");
}

TEST_F(OldDriver, update_queue_at_random_moments_changes_no_bit_of_the_results) {
  Puppet puppet(socket());
  ASSERT_EQ(puppet.ask("work"), "ok");
  Connection agent = accept();
  agent.welcome(wire::code_of(WorkClass::offline), false);
  for (int run = 0; run < 3; run++) {
    puppet.say("work");
    for (int stop = 0; stop < 15; stop++) {
      ASSERT_EQ(agent.stop(Mechanism::update_queue).error, 0);
      ASSERT_EQ(agent.start().error, 0);
      std::this_thread::sleep_for(std::chrono::microseconds(317 * stop));
    }
    EXPECT_EQ(puppet.line(), "ok");
  }
}

}  // namespace
}  // namespace gp::agent
