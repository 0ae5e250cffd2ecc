// kill -9 of everybody who takes part: no queue stays stopped.
#include <signal.h>
#include <unistd.h>

#include <thread>

#include "mechanism/target_process.h"
#include "mechanism_support.h"

namespace gp::mechanism {
namespace {

TEST(Deaths, OfTheStopperStartsTheQueues) {
  Victim victim;
  for (int i = 0; i < 3; i++) {
    Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "debugger"});
    ASSERT_EQ(stopper.line(), "stopped");
    ASSERT_TRUE(all_stopped(victim.pid()));
    stopper.signal(SIGKILL);
    EXPECT_EQ(stopper.wait(), 128 + SIGKILL);
    EXPECT_TRUE(all_run_again(victim.pid()));
    EXPECT_TRUE(victim.makes_progress());
  }
}

// At any moment: while it attaches, stops, waits.
TEST(Deaths, OfTheStopperAtAnyMomentStartTheQueues) {
  Victim victim;
  for (int delay_us = 0; delay_us < 20'000; delay_us += 1000) {
    Child stopper({program("mechanism_stopper"), std::to_string(victim.pid()), "debugger"});
    ::usleep(static_cast<useconds_t>(delay_us));
    stopper.signal(SIGKILL);
    stopper.wait();
    ASSERT_TRUE(all_run_again(victim.pid())) << "killed after " << delay_us << " us";
  }
  EXPECT_TRUE(victim.makes_progress());
}

TEST(Deaths, OfTheTargetAtAnyMomentAreSurvived) {
  const auto controller = make_controller();
  for (int delay_us = 0; delay_us < 3000; delay_us += 500) {
    Victim victim;
    const Target target{victim.key(), {}};
    auto killer = std::thread([&] {
      ::usleep(static_cast<useconds_t>(delay_us));
      victim.signal(SIGKILL);
    });
    const auto lease = controller->stop({&target, 1}, lease_for(1h));
    killer.join();
    EXPECT_EQ(victim.wait(), 128 + SIGKILL);
    if (lease) {
      EXPECT_EQ(next_event(*controller).end, LeaseEnd::target_gone);
    }
  }
}

TEST(Deaths, OfTheOwnerWhileManyQueuesAppearStartsThem) {
  Victim victim;
  Child owner({"/bin/sleep", "1000"});
  const auto controller = make_controller();
  LeaseOptions options = lease_for(1h);
  options.owner = owner.pid();
  const Target target{victim.key(), {}};
  ASSERT_TRUE(succeeds(controller->stop({&target, 1}, options)));
  for (int i = 0; i < 5; i++) {
    ASSERT_EQ(victim.ask("create"), "created");
  }
  owner.signal(SIGKILL);
  EXPECT_EQ(next_event(*controller).end, LeaseEnd::owner_died);
  EXPECT_TRUE(all_run_again(victim.pid()));
}

}  // namespace
}  // namespace gp::mechanism
