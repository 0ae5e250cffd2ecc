// Hours of random work, under every policy, with everything going wrong now and then.
#include <random>

#include "sched/sched_support.h"

namespace gp::sched {
namespace {

class Soak : public testing::TestWithParam<const char*> {};

TEST_P(Soak, NobodyStaysStoppedWhateverHappens) {
  Settings settings;
  settings.policy = policy::find(GetParam());
  settings.make_room = true;
  World world(settings);
  const auto set_slots = [&](u32 slots) { world.engine.set_node(1, {"node", 1, slots}); };
  std::mt19937 random(7);
  const auto below = [&](u32 limit) { return static_cast<u32>(random() % limit); };
  std::vector<ProcessId> servers, jobs;
  for (int i = 0; i < 3; ++i) {
    servers.push_back(world.online());
  }
  for (int i = 0; i < 6; ++i) {
    jobs.push_back(world.offline(i % 2 ? "train" : ""));
  }
  for (int step = 0; step < 20'000; ++step) {
    const ProcessId server = servers[below(3)];
    ProcessId& job = jobs[below(6)];
    switch (below(14)) {
      case 0: world.of(job).takes_ns = (1 + below(800)) * kMs; break;
      case 1: world.of(job).takes_ns = (1 + below(800)) * kUs; break;
      case 2: world.of(job).silent = !world.of(job).silent; break;
      case 3: world.of(job).refuses[kMechanisms[below(kMechanismCount)].mechanism] = EIO; break;
      case 4: world.of(job).refuses.clear(); break;
      case 5: world.of(job).start_fails = below(4) == 0; break;
      case 6:
        world.remove(job);
        job = world.offline(below(2) ? "train" : "");
        break;
      case 7: set_slots(below(2) ? 6 : 100); break;
      case 8: world.set_busy(job, !world.of(job).activity.busy); break;
      default: world.set_busy(server, !world.of(server).activity.busy); break;
    }
    world.run_for(below(200) * kMs);
    const auto deadline = world.engine.earliest_deadline_ns();
    ASSERT_TRUE(!deadline || *deadline <= world.now_ns + settings.lease_ns);
  }
  for (const ProcessId server : servers) {
    world.set_busy(server, false);
  }
  set_slots(100);
  for (const ProcessId job : jobs) {
    world.set_busy(job, false);
    world.of(job).silent = world.of(job).start_fails = false;
  }
  world.run_for(60 * kSecond);
  for (const ProcessId job : jobs) {
    EXPECT_FALSE(world.stopped(job));
  }
  EXPECT_TRUE(world.engine.all_running());
  EXPECT_TRUE(world.journal.empty());
  EXPECT_FALSE(world.engine.wake_ns().has_value()) << "it keeps waking up";
}

INSTANTIATE_TEST_SUITE_P(Policies, Soak, testing::Values("strict", "share", "priority", "slo"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gp::sched
