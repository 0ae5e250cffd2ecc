// The agent tells the daemon when the process has GPU work and when all of it has completed.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "agent/agent_support.h"

namespace gp::agent {
namespace {

class Watch : public AgentTest {
 protected:
  void SetUp() override {
    AgentTest::SetUp();
    listen();
  }
  void meet(const Settings& settings = {}) {
    puppet_.emplace(socket(), settings);
    ASSERT_EQ(puppet_->ask("default"), "ok");
    agent_ = accept();
    agent_.welcome(wire::code_of(WorkClass::online), true);
    // The first thing it finds is the work that was done before.
    ASSERT_TRUE(eventually([&] { return agent_.page().bursts > 0; }));
    ASSERT_TRUE(becomes_idle());
  }
  bool becomes_idle() {
    return eventually([&] { return agent_.page().busy == 0; });
  }
  bool becomes_busy() {
    return eventually([&] { return agent_.page().busy == 1; });
  }

  std::optional<Puppet> puppet_;
  Connection agent_;
};

TEST_F(Watch, hello_says_who_the_process_is) {
  meet({{"GPREEMPT_CLASS", "online"},
        {"AMD_QUEUE_TAG", "chat"},
        {"AMD_QUEUE_PRIORITY", "12"},
        {"GPREEMPT_JOB", "server"}});
  EXPECT_EQ(agent_.hello().pid, static_cast<u32>(puppet_->pid()));
  EXPECT_EQ(agent_.hello().work_class, wire::code_of(WorkClass::online));
  EXPECT_EQ(agent_.hello().priority, 12u);
  EXPECT_STREQ(agent_.hello().tag, "chat");
  EXPECT_STREQ(agent_.hello().job, "server");
  EXPECT_EQ(agent_.page().magic, wire::kPageMagic);
}

TEST_F(Watch, settings_that_make_no_sense_count_as_unset) {
  meet({{"GPREEMPT_CLASS", "important"}, {"GPREEMPT_PRIORITY", "16"}});
  EXPECT_EQ(agent_.hello().work_class, wire::kClassUnset);
  EXPECT_EQ(agent_.hello().priority, wire::kPriorityUnset);
}

TEST_F(Watch, a_kernel_keeps_the_process_busy_until_it_has_completed) {
  meet();
  const u64 bursts = agent_.page().bursts;
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  EXPECT_TRUE(becomes_busy());
  EXPECT_GT(agent_.page().bursts, bursts);
  ASSERT_EQ(puppet_->ask("progress"), "ok");  // read long ago, and running
  for (int look = 0; look < 50; look++) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    ASSERT_EQ(agent_.page().busy, 1u);
  }
  ASSERT_EQ(puppet_->ask("finish"), "ok");
  EXPECT_TRUE(becomes_idle());
  EXPECT_GE(agent_.page().idle_since_ns, agent_.page().busy_since_ns);
}

TEST_F(Watch, every_way_to_submit_work_is_seen) {
  meet();
  for (const char* way :
       {"default", "stream", "thread stream", "graph", "cooperative", "copies", "work"}) {
    const u64 bursts = agent_.page().bursts;
    ASSERT_EQ(puppet_->ask(way), "ok") << way;
    EXPECT_GT(agent_.page().bursts, bursts) << way;
    EXPECT_TRUE(becomes_idle()) << way;
  }
}

TEST_F(Watch, the_daemon_is_woken_when_work_begins_and_when_it_ends) {
  meet();
  const auto woken = [&] {
    pollfd readable = {agent_.wake_fd(), POLLIN, 0};
    u64 count = 0;
    return poll(&readable, 1, 30'000) == 1 && read(agent_.wake_fd(), &count, 8) == 8;
  };
  u64 count = 0;
  while (read(agent_.wake_fd(), &count, 8) == 8) {
  }
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  EXPECT_TRUE(woken());
  EXPECT_EQ(agent_.page().busy, 1u);
  ASSERT_EQ(puppet_->ask("finish"), "ok");
  while (agent_.page().busy == 1) {
    ASSERT_TRUE(woken());
  }
}

TEST_F(Watch, packets_of_many_threads_are_all_waited_for) {
  meet();
  ASSERT_EQ(puppet_->ask("threads"), "ok");
  EXPECT_TRUE(becomes_idle());
  EXPECT_GT(agent_.page().completed, 80u);
}

TEST_F(Watch, an_idle_process_wakes_nobody) {
  meet();
  pollfd readable = {agent_.wake_fd(), POLLIN, 0};
  u64 count = 0;
  // The notice of the last end follows right behind the page.
  while (poll(&readable, 1, 100) == 1) {
    ASSERT_EQ(read(agent_.wake_fd(), &count, 8), 8);
    ASSERT_EQ(agent_.page().busy, 0u);
  }
  EXPECT_EQ(poll(&readable, 1, 500), 0);
}

TEST_F(Watch, work_from_before_the_daemon_came_is_seen) {
  stop_listening();
  puppet_.emplace(socket());
  ASSERT_EQ(puppet_->ask("launch"), "ok");
  listen();
  agent_ = accept();
  agent_.welcome(wire::code_of(WorkClass::online), true);
  EXPECT_TRUE(becomes_busy());
  ASSERT_EQ(puppet_->ask("finish"), "ok");
  EXPECT_TRUE(becomes_idle());
}

TEST_F(Watch, a_daemon_that_restarts_is_found_again) {
  meet();
  for (int restart = 0; restart < 3; restart++) {
    stop_listening();
    agent_.close();
    ASSERT_EQ(puppet_->ask("default"), "ok");
    listen();
    agent_ = accept();
    agent_.welcome(wire::code_of(WorkClass::online), true);
    const u64 bursts = agent_.page().bursts;
    ASSERT_TRUE(becomes_idle());
    EXPECT_TRUE(eventually(
        [&] { return puppet_->ask("default") == "ok" && agent_.page().bursts > bursts; }));
  }
}

TEST_F(Watch, a_forked_child_does_not_keep_the_connection_open) {
  meet();
  ASSERT_EQ(puppet_->ask("fork"), "ok");
  ASSERT_EQ(puppet_->ask("default"), "ok");
  puppet_->signal(SIGKILL);
  EXPECT_TRUE(agent_.ended());
  EXPECT_EQ(puppet_->wait(), 128 + SIGKILL);
  puppet_->close_input();
}

TEST_F(Watch, a_daemon_that_talks_nonsense_is_left_and_the_program_goes_on) {
  meet();
  wire::Header nonsense;
  nonsense.kind = static_cast<wire::Kind>(999);
  nonsense.size = sizeof nonsense;
  agent_.send(nonsense);
  EXPECT_TRUE(agent_.ended());
  EXPECT_EQ(puppet_->ask("default"), "ok");
}

}  // namespace
}  // namespace gp::agent
