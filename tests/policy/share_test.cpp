#include "policy/policy_support.h"

namespace gp::policy {
namespace {

// A fifth of the time, in periods of 100 ms.
Parameters a_fifth() {
  Parameters parameters;
  parameters.share = 0.2;
  parameters.slice_period_ns = 100 * kMs;
  return parameters;
}

TEST(Share, StopsAJobThatHasRunForLongAtOnce) {
  EXPECT_EQ(share(view(10, {busy(online(1), 10), offline(2)}), a_fifth()).stop, Jobs{2});
}

TEST(Share, GivesASliceWhileOnlineWorkStaysBusy) {
  const std::vector<JobView> jobs = {busy(online(1), 10), stopped(offline(2), 10)};
  const Decision before = share(view(89, jobs), a_fifth());
  EXPECT_TRUE(before.start.empty());
  EXPECT_EQ(before.look_again_ns, at(90));
  EXPECT_EQ(share(view(90, jobs), a_fifth()).start, Jobs{2});
}

TEST(Share, EndsTheSliceWhenTheJobHasHadItsPart) {
  JobView slice = in_state(offline(2), JobState::running, 90);
  slice.previous_stop_ns = 80 * kMs;
  const std::vector<JobView> jobs = {busy(online(1), 10), slice};
  const Decision before = share(view(109, jobs), a_fifth());
  EXPECT_TRUE(before.stop.empty());
  EXPECT_EQ(before.look_again_ns, at(110));
  EXPECT_EQ(share(view(110, jobs), a_fifth()).stop, Jobs{2});
}

TEST(Share, OwesLittleAfterAShortStop) {
  JobView job = in_state(offline(2), JobState::running, 20);
  job.previous_stop_ns = 4 * kMs;
  EXPECT_EQ(share(view(21, {busy(online(1), 21), job}), a_fifth()).stop, Jobs{2});
}

TEST(Share, OfNothingIsStrict) {
  Parameters parameters = a_fifth();
  parameters.share = 0;
  const std::vector<JobView> jobs = {busy(online(1), 10), stopped(offline(2), 10)};
  EXPECT_TRUE(share(view(5000, jobs), parameters).start.empty());
}

// Carries the decisions out at once and adds up how long the job ran.
TEST(Share, KeepsThePartUnderAnOnlineJobThatNeverStops) {
  const Parameters parameters = a_fifth();
  JobView job = offline(2);
  u64 ran_ms = 0;
  constexpr u64 kLastMs = 10'000;
  for (u64 now = 1; now <= kLastMs; ++now) {
    JobView claimant = busy(online(1), 1);
    claimant.progress_ns = at(now);
    const Decision decision = share(view(now, {claimant, job}), parameters);
    if (!decision.stop.empty()) {
      job = stopped(job, now);
    } else if (!decision.start.empty()) {
      job.previous_stop_ns = at(now) - job.state_since_ns;
      job = in_state(job, JobState::running, now);
    }
    ran_ms += job.state == JobState::running;
  }
  EXPECT_NEAR(static_cast<double>(ran_ms), 0.2 * kLastMs, 0.01 * kLastMs);
}

}  // namespace
}  // namespace gp::policy
