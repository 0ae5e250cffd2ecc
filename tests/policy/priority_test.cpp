#include "policy/policy_support.h"

namespace gp::policy {
namespace {

const Parameters kDefaults;

JobView worker(JobId id, u32 priority) { return busy(level(offline(id), priority), 5); }

TEST(Priority, RunsTheHighestBusyLevelOnly) {
  EXPECT_EQ(priority(view(10, {worker(1, 0), worker(2, 5), worker(3, 3)}), kDefaults).stop,
            (Jobs{3, 1}));
}

TEST(Priority, RunsEqualLevelsTogether) {
  const Decision decision = priority(view(10, {worker(1, 4), worker(2, 4)}), kDefaults);
  EXPECT_TRUE(decision.stop.empty());
}

TEST(Priority, LetsTheNextLevelRunWhenTheHighestIsIdle) {
  const std::vector<JobView> jobs = {idle(worker(1, 5), 20), stopped(worker(2, 3), 10),
                                     stopped(worker(3, 0), 10)};
  EXPECT_EQ(priority(view(30, jobs), kDefaults).start, Jobs{2});
}

TEST(Priority, DecidesForEachGpu) {
  const std::vector<JobView> jobs = {on(worker(1, 5), {1}), on(worker(2, 3), {2})};
  EXPECT_TRUE(priority(view(10, jobs), kDefaults).stop.empty());
}

TEST(Priority, AStoppedJobDoesNotKeepItsOtherGpusEmpty) {
  // 2 has to wait for 1 on GPU 1, so 3 may have GPU 2.
  const std::vector<JobView> jobs = {on(worker(1, 5), {1}), stopped(on(worker(2, 3), {1, 2}), 6),
                                     stopped(on(worker(3, 1), {2}), 6)};
  EXPECT_EQ(priority(view(10, jobs), kDefaults).start, Jobs{3});
}

TEST(Priority, StopsOnlineWorkOnlyIfConfigured) {
  JobView lower = busy(level(online(1), 10), 5);
  lower.stoppable = true;
  const View situation = view(10, {lower, busy(level(online(2), 15), 5)});
  EXPECT_TRUE(priority(situation, kDefaults).stop.empty());
  Parameters parameters;
  parameters.stop_online = true;
  EXPECT_EQ(priority(situation, parameters).stop, Jobs{1});
}

}  // namespace
}  // namespace gp::policy
