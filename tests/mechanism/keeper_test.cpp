// Who holds a stop may stand still instead of dying: the deadline holds all the same, and nobody
// is killed for it but a process of ours.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>

#include "mechanism/target_process.h"
#include "mechanism_support.h"
#include "os/os.h"

namespace gp::mechanism {
namespace {

// CRIU_OP needs a capability that an ordinary user does not have.
class Keeper : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (mechanism() == "criu" && ::geteuid() != 0) {
      GTEST_SKIP() << "CRIU_OP needs CAP_CHECKPOINT_RESTORE";
    }
  }
  static std::string mechanism() { return GetParam(); }
  static Mechanism wanted() { return find_mechanism(GetParam())->mechanism; }
  // The keeper of this target: whoever traces it.
  static pid_t keeper_of(const Victim& victim) { return process_state(victim.pid())->tracer; }
  static std::unique_ptr<Controller> controller_with_keepers() {
    auto controller = Controller::create({.keeper = true});
    EXPECT_TRUE(succeeds(controller));
    return std::move(*controller);
  }
  static std::unique_ptr<Child> holder_of(const Victim& victim, const char* milliseconds) {
    auto holder = std::make_unique<Child>(
        std::vector<std::string>{program("mechanism_stopper"), std::to_string(victim.pid()),
                                 mechanism(), milliseconds, "keeper"});
    EXPECT_EQ(holder->line(), "stopped");
    return holder;
  }
};

TEST_P(Keeper, HasTheTargetStoppedAndStartedForItsController) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  for (int i = 0; i < 3; i++) {
    const auto lease = controller->stop({&target, 1}, lease_for(1h, wanted()));
    ASSERT_TRUE(succeeds(lease));
    EXPECT_FALSE(lease->targets[0].queues.empty());
    EXPECT_GT(lease->times.driver_ns, 0);
    EXPECT_TRUE(all_stopped(victim.pid()));
    EXPECT_TRUE(victim.stands_still());
    ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 2h)));
    ASSERT_TRUE(succeeds(controller->start(lease->lease)));
    EXPECT_TRUE(victim.makes_progress());
  }
  EXPECT_NE(keeper_of(victim), 0);
  ASSERT_TRUE(succeeds(controller->let_go(victim.key())));
  EXPECT_TRUE(eventually([&] { return keeper_of(victim) == 0; }));
}

TEST_P(Keeper, IsInASessionOfItsOwn) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  ASSERT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, wanted()))));
  const pid_t keeper = ::getsid(keeper_of(victim));
  EXPECT_NE(keeper, ::getsid(0));
}

TEST_P(Keeper, KeepsTheDeadlineOfAHolderThatStandsStill) {
  Victim victim;
  const auto holder = holder_of(victim, "300");
  holder->signal(SIGSTOP);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
  holder->signal(SIGCONT);  // it was not killed, and goes on
  holder->signal(SIGTERM);
  EXPECT_EQ(holder->wait(), 128 + SIGTERM);
}

TEST_P(Keeper, ThatStandsStillIsKilledAtTheDeadline) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  const auto lease = controller->stop({&target, 1}, lease_for(300ms, wanted()));
  ASSERT_TRUE(succeeds(lease));
  ASSERT_EQ(::kill(keeper_of(victim), SIGSTOP), 0);
  EXPECT_EQ(next_event(*controller).end, LeaseEnd::deadline);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(victim.makes_progress());
  // And the next stop has another keeper.
  ASSERT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, wanted()))));
  EXPECT_TRUE(victim.stands_still());
}

TEST_P(Keeper, ThatIsKilledLeavesNothingStopped) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  ASSERT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, wanted()))));
  ASSERT_EQ(::kill(keeper_of(victim), SIGKILL), 0);
  EXPECT_TRUE(all_run_again(victim.pid()));
  next_event(*controller);  // the lease has ended
  ASSERT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, wanted()))));
  EXPECT_TRUE(victim.stands_still());
}

// That a keeper dies says nothing of its target: who asked for the stop may ask again.
TEST_P(Keeper, ThatDiesDuringAStopIsNotTakenForItsTarget) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  ASSERT_TRUE(succeeds(controller->prepare(victim.key(), wanted())));
  const pid_t keeper = keeper_of(victim);
  ASSERT_EQ(::kill(keeper, SIGSTOP), 0);
  auto stop = std::async(std::launch::async, [&] {
    return controller->stop({&target, 1}, lease_for(1h, wanted()));
  });
  ASSERT_EQ(stop.wait_for(50ms), std::future_status::timeout);
  ASSERT_EQ(::kill(keeper, SIGKILL), 0);
  const auto stopped = stop.get();
  if (!stopped) {  // else the request came after the death
    EXPECT_EQ(stopped.error().code, ECONNRESET);
    ASSERT_TRUE(succeeds(controller->stop({&target, 1}, lease_for(1h, wanted()))));
  }
  EXPECT_TRUE(victim.stands_still());
}

TEST_P(Keeper, GoesWithItsController) {
  Victim victim;
  const auto holder = holder_of(victim, "3600000");
  holder->signal(SIGKILL);
  EXPECT_TRUE(all_run_again(victim.pid()));
  EXPECT_TRUE(eventually([&] { return keeper_of(victim) == 0; }));
  EXPECT_TRUE(victim.makes_progress());
}

TEST_P(Keeper, DoesNotExtendWhatItHasStarted) {
  Victim victim;
  const auto controller = controller_with_keepers();
  const Target target{victim.key(), {}};
  LeaseOptions options = lease_for(1h, wanted());
  const auto lease = controller->stop({&target, 1}, options);
  ASSERT_TRUE(succeeds(lease));
  ASSERT_TRUE(succeeds(controller->extend(lease->lease, Clock::now() + 1h)));
  ASSERT_EQ(::kill(keeper_of(victim), SIGKILL), 0);
  EXPECT_TRUE(eventually([&] { return !controller->extend(lease->lease, Clock::now() + 1h); }));
  EXPECT_TRUE(all_run_again(victim.pid()));
}

INSTANTIATE_TEST_SUITE_P(By, Keeper, testing::Values("debugger", "criu"),
                         [](const auto& each) { return std::string(each.param); });

}  // namespace
}  // namespace gp::mechanism
