// `criu`: whole processes, with a pause guard that unpauses them if we cannot.
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "mechanism/target_process.h"
#include "mechanism_support.h"
#include "os/os.h"

namespace gp::mechanism {
namespace {

// CRIU_OP needs a capability that an ordinary user does not have.
class Criu : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "CRIU_OP needs CAP_CHECKPOINT_RESTORE";
    }
  }
};

std::unique_ptr<Attachment> attach_to(const Child& victim) {
  auto attached = attach(Mechanism::criu, victim.key());
  EXPECT_TRUE(succeeds(attached));
  return attached ? std::move(*attached) : nullptr;
}

// The pause guard of this target: it is nobody's child.
pid_t pause_guard_of(pid_t target) {
  const std::string pid = std::to_string(target);
  const std::string wanted = std::string("gpreempt-pause-guard") + '\0' + pid + '\0';
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename();
    const auto line = system_os().read_file(entry.path().string() + "/cmdline");
    if (line && line->starts_with(wanted)) {
      return std::stoi(name);
    }
  }
  return 0;
}

TEST_F(Criu, PausesAndUnpausesARunningKernel) {
  Victim victim({"--no-runtime"});  // it needs no runtime
  const auto criu = attach_to(victim);
  ASSERT_TRUE(succeeds(criu->stop_all({})));
  EXPECT_TRUE(victim.stands_still());
  ASSERT_TRUE(succeeds(criu->start_all()));
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Criu, NeverPausesTwice) {
  Victim victim;
  const auto criu = attach_to(victim);
  ASSERT_TRUE(succeeds(criu->stop_all({})));
  const auto again = criu->stop_all({});
  ASSERT_TRUE(succeeds(again));
  EXPECT_EQ(again->front().outcome, QueueOutcome::already);
  ASSERT_TRUE(succeeds(criu->start_all()));
  EXPECT_TRUE(victim.makes_progress());  // a second pause would have outlasted one unpause
}

TEST_F(Criu, RefusesSingleQueues) {
  Victim victim;
  const auto criu = attach_to(victim);
  EXPECT_TRUE(is_error(criu->stop(std::vector<u32>{0}, {}), EOPNOTSUPP, "whole processes"));
}

TEST_F(Criu, GuardianUnpausesWhenTheStopperIsKilled) {
  Victim victim;
  Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "criu"});
  ASSERT_EQ(stopper.line(), "stopped");
  ASSERT_TRUE(all_stopped(victim.pid()));
  stopper.signal(SIGKILL);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
  EXPECT_TRUE(eventually([&] { return pause_guard_of(victim.pid()) == 0; }));
  // The kernel takes a dying process's memory, and with it its name, before it ends its traces.
  EXPECT_TRUE(eventually([&] { return process_state(victim.pid())->tracer == 0; }));
}

TEST_F(Criu, ReplacesAGuardianThatIsKilled) {
  Victim victim;
  Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "criu"});
  ASSERT_EQ(stopper.line(), "stopped");
  const pid_t first = pause_guard_of(victim.pid());
  ASSERT_NE(first, 0);
  ::kill(first, SIGKILL);
  ASSERT_TRUE(eventually([&] {
    const pid_t now = pause_guard_of(victim.pid());
    return now != 0 && now != first;
  }));
  stopper.signal(SIGKILL);
  EXPECT_TRUE(all_run_again(victim.pid()));
}

TEST_F(Criu, UnpausesWhatAStopperAndItsGuardianHaveLeftPaused) {
  Victim victim;
  Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "criu"});
  ASSERT_EQ(stopper.line(), "stopped");
  stopper.signal(SIGSTOP);  // it cannot replace the guardian
  ::kill(pause_guard_of(victim.pid()), SIGKILL);
  stopper.signal(SIGKILL);
  stopper.wait();
  ASSERT_TRUE(eventually([&] { return process_state(victim.pid())->tracer == 0; }));
  EXPECT_TRUE(victim.stands_still());
  AttachOptions options;
  options.take_over = true;
  ASSERT_TRUE(succeeds(attach(Mechanism::criu, victim.key(), options)));
  EXPECT_TRUE(victim.makes_progress());
}

TEST_F(Criu, LeavesNothingBehindWhenTheTargetIsKilled) {
  Victim victim;
  auto criu = attach_to(victim);
  ASSERT_TRUE(succeeds(criu->stop_all({})));
  victim.signal(SIGKILL);
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
  criu.reset();
  EXPECT_TRUE(eventually([&] { return pause_guard_of(victim.pid()) == 0; }));
}

TEST_F(Criu, IsUsedOnlyWhenNamed) {
  Victim victim({"--no-runtime"});
  const auto controller = make_controller();
  const Target target{victim.key(), {}};
  EXPECT_TRUE(is_error(controller->stop({&target, 1}, lease_for(1h)), EPERM));
  EXPECT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, Mechanism::criu))));
}

}  // namespace
}  // namespace gp::mechanism
