// What is known of a process whose command line and environment cannot be read yet.
#include "daemon/processes.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <future>

namespace gp::daemon {
namespace {

class NoEffects : public sched::Effects {
 public:
  void carry_out(const sched::Order&) override {}
  std::optional<sched::Activity> activity(sched::ProcessId) override { return std::nullopt; }
  void runs_again(sched::ProcessId) override {}
};

class ProcessesTest : public ::testing::Test {
 protected:
  // Whoever reads our files is held up until then, as by a process that keeps a lock of its memory.
  void TearDown() override { let_go.set_value(); }

  static PeerIdentity ourselves() {
    PeerIdentity peer;
    peer.pid = ::getpid();
    peer.uid = ::getuid();
    peer.gid = ::getgid();
    peer.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
    return peer;
  }
  void add_rule(WorkClass work_class) {
    discover::ClassRule rule;
    rule.uid = ::getuid();
    rule.enforce = true;
    rule.work_class = work_class;
    config.classes.rules = {rule};
  }
  WorkClass work_class(sched::ProcessId id) const { return engine.find(id)->facts.work_class; }

  std::promise<void> let_go;
  NoEffects effects;
  config::Config config;
  std::unique_ptr<Loop> loop = std::move(*Loop::create());
  sched::Engine engine{effects, config.settings};
  Processes processes{*loop, engine, config, [held = let_go.get_future().share()](pid_t pid) {
                        held.wait();
                        return Onlooker::read_files(pid);
                      }};
};

TEST_F(ProcessesTest, ARuleThatIsEnforcedForAUserDoesNotWaitForTheEnvironment) {
  add_rule(WorkClass::offline);
  const auto id = processes.join(ourselves());
  ASSERT_TRUE(id);
  EXPECT_EQ(work_class(*id), WorkClass::offline);
  ToldFacts facts;
  facts.work_class = WorkClass::online;
  processes.told(*id, facts);
  EXPECT_EQ(work_class(*id), WorkClass::offline);
}

TEST_F(ProcessesTest, NorDoesOneThatIsNew) {
  const auto id = processes.join(ourselves());
  ASSERT_TRUE(id);
  ToldFacts facts;
  facts.work_class = WorkClass::online;
  processes.told(*id, facts);
  EXPECT_EQ(work_class(*id), WorkClass::online);
  add_rule(WorkClass::offline);
  processes.refresh();
  EXPECT_EQ(work_class(*id), WorkClass::offline);
}

// It could put off for as long as it likes that it is looked at.
TEST_F(ProcessesTest, AProcessThatBecomesAnothersIsTheirsAtOnce) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can become others";
  }
  constexpr uid_t kAlice = 60'001, kUnchanged = -1;
  const auto id = processes.join(ourselves());
  ASSERT_TRUE(id);
  ToldFacts facts;
  facts.job = "root's";
  processes.told(*id, facts);
  ASSERT_TRUE(engine.find(*id)->facts.governs_others);
  ASSERT_EQ(::setresuid(kAlice, kUnchanged, kUnchanged), 0);
  const auto again = processes.join(ourselves());
  ASSERT_EQ(::setresuid(0, kUnchanged, kUnchanged), 0);
  ASSERT_TRUE(again);
  EXPECT_EQ(*again, *id);
  EXPECT_EQ(engine.find(*id)->facts.owner.uid, kAlice);
  EXPECT_EQ(engine.find(*id)->facts.job, "");
  EXPECT_FALSE(engine.find(*id)->facts.governs_others);
}

}  // namespace
}  // namespace gp::daemon
