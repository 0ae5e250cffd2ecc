#include "policy/policy_support.h"

namespace gp::policy {
namespace {

const Parameters kDefaults;

TEST(Strict, StopsOfflineWorkWhenOnlineWorkBegins) {
  const Decision decision = strict(view(10, {busy(online(1), 10), offline(2)}), kDefaults);
  EXPECT_EQ(decision.stop, Jobs{2});
  EXPECT_TRUE(decision.start.empty());
}

TEST(Strict, HasNothingToDoWhileAllAreWhatTheyShouldBe) {
  const auto nothing = [](const View& situation) {
    const Decision decision = strict(situation, kDefaults);
    return decision.stop.empty() && decision.start.empty();
  };
  EXPECT_TRUE(nothing(view(10, {})));
  EXPECT_TRUE(nothing(view(10, {online(1), offline(2)})));
  EXPECT_TRUE(nothing(view(10, {busy(online(1), 5), stopped(offline(2), 5)})));
  EXPECT_TRUE(nothing(view(10, {busy(online(1), 5), in_state(offline(2), JobState::stopping, 5)})));
  EXPECT_TRUE(nothing(view(10, {online(1), in_state(offline(2), JobState::starting, 5)})));
}

TEST(Strict, StartsWhatOnlineWorkWaitsFor) {
  JobView awaited = stopped(offline(2), 5);
  awaited.awaited = true;
  const Decision decision = strict(view(10, {busy(online(1), 5), awaited}), kDefaults);
  EXPECT_EQ(decision.start, Jobs{2});
  EXPECT_TRUE(decision.stop.empty());
}

TEST(Strict, TakesBackAStartThatIsUnderWay) {
  const JobView starting = in_state(offline(2), JobState::starting, 9);
  EXPECT_EQ(strict(view(10, {busy(online(1), 10), starting}), kDefaults).stop, Jobs{2});
}

TEST(Strict, LingersForAsLongAsIsPlanned) {
  const JobView waiting = stopped(offline(2), 1);
  const Decision early = strict(view(24, {idle(online(1), 20), waiting}), kDefaults);
  EXPECT_TRUE(early.start.empty());
  EXPECT_EQ(early.look_again_ns, at(25));
  EXPECT_EQ(strict(view(25, {idle(online(1), 20), waiting}), kDefaults).start, Jobs{2});
}

TEST(Strict, LingersNoLongerThanTheConfigurationAllows) {
  Parameters parameters;
  parameters.linger_max_ns = 1 * kMs;
  const View situation = view(21, {idle(online(1), 20), stopped(offline(2), 1)});
  EXPECT_EQ(strict(situation, parameters).start, Jobs{2});
}

TEST(Strict, LooksAtTheGpusThatJobsShare) {
  const JobView other_gpu = on(offline(2), {2});
  EXPECT_TRUE(strict(view(10, {busy(online(1), 10), other_gpu}), kDefaults).stop.empty());
  const JobView both = on(offline(3), {1, 2});
  EXPECT_EQ(strict(view(10, {busy(online(1), 10), both}), kDefaults).stop, Jobs{3});
}

TEST(Strict, WaitsForTheLastOfSeveralOnlineJobs) {
  const std::vector<JobView> jobs = {idle(online(1), 20), busy(online(3), 15),
                                     stopped(offline(2), 1)};
  EXPECT_TRUE(strict(view(40, jobs), kDefaults).start.empty());
}

TEST(Strict, DoesNotWaitForOnlineWorkThatHangs) {
  Parameters parameters;
  parameters.max_stop_ns = 100 * kMs;
  const std::vector<JobView> jobs = {busy(online(1), 10), stopped(offline(2), 10)};
  const Decision before = strict(view(109, jobs), parameters);
  EXPECT_TRUE(before.start.empty());
  EXPECT_EQ(before.look_again_ns, at(110));
  EXPECT_EQ(strict(view(110, jobs), parameters).start, Jobs{2});
}

TEST(Strict, WaitsForOnlineWorkThatMakesProgress) {
  Parameters parameters;
  parameters.max_stop_ns = 100 * kMs;
  JobView working = busy(online(1), 10);
  working.progress_ns = at(500);
  const View situation = view(550, {working, stopped(offline(2), 10)});
  EXPECT_TRUE(strict(situation, parameters).start.empty());
}

TEST(Strict, LeavesJobsOfOthersAloneUnlessItMayGovernThem) {
  JobView mine = busy(online(1), 10);
  mine.owner.uid = 1000;
  JobView theirs = offline(2);
  theirs.owner.uid = 1001;
  EXPECT_TRUE(strict(view(10, {mine, theirs}), kDefaults).stop.empty());
  mine.governs_others = true;
  EXPECT_EQ(strict(view(10, {mine, theirs}), kDefaults).stop, Jobs{2});
}

// In a container without a user namespace of its own everybody can be anybody.
TEST(Strict, WhoMayBeAnImpostorStopsOnlyThoseWhoMayBeToo) {
  JobView claimant = busy(online(1), 10), victim = offline(2);
  claimant.owner = {1000, false};
  victim.owner = {1000, true};
  EXPECT_TRUE(strict(view(10, {claimant, victim}), kDefaults).stop.empty());
  victim.owner.is_certain = false;
  EXPECT_EQ(strict(view(10, {claimant, victim}), kDefaults).stop, Jobs{2});
  claimant.owner.is_certain = true;
  EXPECT_EQ(strict(view(10, {claimant, victim}), kDefaults).stop, Jobs{2});
}

TEST(Strict, LetsAJobRunBetweenTwoStops) {
  Parameters parameters;
  parameters.min_run_ns = 10 * kMs;
  const JobView fresh = in_state(offline(2), JobState::running, 5);
  const Decision early = strict(view(10, {busy(online(1), 10), fresh}), parameters);
  EXPECT_TRUE(early.stop.empty());
  EXPECT_EQ(early.look_again_ns, at(15));
  EXPECT_EQ(strict(view(15, {busy(online(1), 10), fresh}), parameters).stop, Jobs{2});
}

TEST(Strict, KeepsAJobStoppedWhenAStartWouldExceedTheRate) {
  JobView job = stopped(offline(2), 1);
  job.earliest_start_ns = at(90);
  const Decision early = strict(view(80, {idle(online(1), 20), job}), kDefaults);
  EXPECT_TRUE(early.start.empty());
  EXPECT_EQ(early.look_again_ns, at(90));
  EXPECT_EQ(strict(view(90, {idle(online(1), 20), job}), kDefaults).start, Jobs{2});
}

TEST(Strict, StartsAJobThatMayNoLongerBeStopped) {
  JobView job = stopped(offline(2), 1);
  job.work_class = WorkClass::normal;
  EXPECT_EQ(strict(view(10, {busy(online(1), 5), job}), kDefaults).start, Jobs{2});
}

}  // namespace
}  // namespace gp::policy
