#include "policy/policy_support.h"

namespace gp::policy {
namespace {

// Stops cost 3 ms; the usual 10 ms of work, times 1.5, take 15: of a target of 50 ms, 32 are spare.
JobView with_target(u64 busy_since_ms) {
  JobView job = busy(online(1), busy_since_ms);
  job.latency_target_ns = 50 * kMs;
  job.burst_ns = 10 * kMs;
  return job;
}

TEST(Slo, StopsNobodyWhileTheTargetIsFar) {
  const Decision decision = slo(view(10, {with_target(10), offline(2)}), {});
  EXPECT_TRUE(decision.stop.empty());
  EXPECT_EQ(decision.look_again_ns, at(42));
}

TEST(Slo, StopsAtTheLastMoment) {
  EXPECT_TRUE(slo(view(41, {with_target(10), offline(2)}), {}).stop.empty());
  EXPECT_EQ(slo(view(42, {with_target(10), offline(2)}), {}).stop, Jobs{2});
}

TEST(Slo, StopsAtOnceWhenTheTargetCannotBeMetOtherwise) {
  JobView tight = with_target(10);
  tight.latency_target_ns = 12 * kMs;
  EXPECT_EQ(slo(view(10, {tight, offline(2)}), {}).stop, Jobs{2});
}

TEST(Slo, IsStrictWithoutATargetOrAForecast) {
  JobView no_target = with_target(10);
  no_target.latency_target_ns.reset();
  EXPECT_EQ(slo(view(10, {no_target, offline(2)}), {}).stop, Jobs{2});
  JobView no_forecast = with_target(10);
  no_forecast.burst_ns.reset();
  EXPECT_EQ(slo(view(10, {no_forecast, offline(2)}), {}).stop, Jobs{2});
}

TEST(Slo, KeepsAJobStoppedThatIsStopped) {
  EXPECT_TRUE(slo(view(10, {with_target(10), stopped(offline(2), 5)}), {}).start.empty());
}

}  // namespace
}  // namespace gp::policy
