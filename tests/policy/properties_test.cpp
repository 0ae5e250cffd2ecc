// What holds for every policy in every situation.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "policy/policy_support.h"

namespace gp::policy {
namespace {

constexpr u64 kNowMs = 500;

u64 some_time() { return at(*rc::gen::inRange<u64>(0, kNowMs + 1)); }

JobView some_job(JobId id) {
  JobView job;
  job.id = id;
  job.work_class = *rc::gen::element(WorkClass::offline, WorkClass::normal, WorkClass::online);
  job.priority = *rc::gen::inRange<u32>(0, 16);
  job.owner = {*rc::gen::inRange<uid_t>(0, 2), *rc::gen::arbitrary<bool>()};
  job.governs_others = *rc::gen::arbitrary<bool>();
  job.nodes = *rc::gen::element(std::vector<u32>{1}, std::vector<u32>{2}, std::vector<u32>{1, 2},
                                std::vector<u32>{});
  job.state = *rc::gen::element(JobState::running, JobState::stopping, JobState::stopped,
                                JobState::starting);
  job.stoppable = *rc::gen::arbitrary<bool>();
  switch (*rc::gen::inRange(0, 3)) {
    case 0: break;
    case 1: job.busy = false; break;
    default: job.busy = true; break;
  }
  job.busy_since_ns = some_time();
  job.idle_since_ns = *rc::gen::arbitrary<bool>() ? some_time() : 0;
  job.progress_ns = some_time();
  job.state_since_ns = some_time();
  job.previous_stop_ns = *rc::gen::inRange<u64>(0, 200) * kMs;
  job.earliest_start_ns = at(*rc::gen::inRange<u64>(0, 2 * kNowMs));
  if (*rc::gen::arbitrary<bool>()) {
    job.latency_target_ns = *rc::gen::inRange<u64>(0, 100) * kMs;
    job.burst_ns = *rc::gen::inRange<u64>(0, 100) * kMs;
    job.stop_ns = *rc::gen::inRange<u64>(0, 10) * kMs;
  }
  job.linger_ns = *rc::gen::inRange<u64>(0, 100) * kMs;
  return job;
}

View some_view() {
  std::vector<JobView> jobs;
  const auto count = *rc::gen::inRange<JobId>(0, 7);
  for (JobId id = 1; id <= count; ++id) {
    jobs.push_back(some_job(id));
  }
  return view(kNowMs, std::move(jobs));
}

Parameters some_parameters() {
  Parameters parameters;
  parameters.linger_min_ns = *rc::gen::inRange<u64>(0, 10) * kMs;
  parameters.linger_max_ns = *rc::gen::inRange<u64>(0, 50) * kMs;
  parameters.max_stop_ns = *rc::gen::inRange<u64>(100, 1000) * kMs;
  parameters.min_run_ns = *rc::gen::inRange<u64>(0, 50) * kMs;
  parameters.share = *rc::gen::inRange(0, 10) / 10.0;
  parameters.stop_normal = *rc::gen::arbitrary<bool>();
  parameters.stop_online = *rc::gen::arbitrary<bool>();
  return parameters;
}

bool contains(const Jobs& jobs, JobId id) {
  return std::find(jobs.begin(), jobs.end(), id) != jobs.end();
}
bool down(const JobView& job) {
  return job.state == JobState::stopped || job.state == JobState::stopping;
}

// The view after the decision has been carried out.
View carried_out(View view, const Decision& decision) {
  for (JobView& job : view.jobs) {
    if (contains(decision.stop, job.id)) {
      job.state = JobState::stopping;
      job.state_since_ns = view.now_ns;
    } else if (contains(decision.start, job.id)) {
      job.state = JobState::starting;
      job.previous_stop_ns = view.now_ns - job.state_since_ns;
      job.state_since_ns = view.now_ns;
    }
  }
  return view;
}

template <class Check>
void for_every_policy(const Check& check) {
  const View situation = some_view();
  const Parameters parameters = some_parameters();
  for (const Policy& policy : policies()) {
    RC_LOG() << policy.name << std::endl;
    check(policy, situation, parameters, policy.decide(situation, parameters));
  }
}

RC_GTEST_PROP(EveryPolicy, ChangesOnlyJobsThatMustChange, ()) {
  for_every_policy([](const Policy&, const View& view, const Parameters&, const Decision& made) {
    for (const JobView& job : view.jobs) {
      RC_ASSERT(!contains(made.stop, job.id) || !down(job));
      RC_ASSERT(!contains(made.start, job.id) || down(job));
    }
    RC_ASSERT(made.stop.size() + made.start.size() <= view.jobs.size());
  });
}

RC_GTEST_PROP(EveryPolicy, StopsOnlyWhatMayBeStopped, ()) {
  for_every_policy([](const Policy& policy, const View& view, const Parameters& parameters,
                      const Decision& made) {
    for (const JobView& job : view.jobs) {
      if (!contains(made.stop, job.id)) {
        continue;
      }
      RC_ASSERT(job.stoppable);
      RC_ASSERT(job.work_class != WorkClass::normal || parameters.stop_normal);
      RC_ASSERT(job.work_class != WorkClass::online ||
                (parameters.stop_online && policy.decide == priority));
    }
  });
}

RC_GTEST_PROP(EveryPolicy, StopsOnlyForBusyWorkThatMayStopIt, ()) {
  for_every_policy([](const Policy&, const View& view, const Parameters&, const Decision& made) {
    for (const JobView& job : view.jobs) {
      const bool wanted =
          std::any_of(view.jobs.begin(), view.jobs.end(), [&](const JobView& other) {
            return other.id != job.id && other.busy == true &&
                   (may_act_on(other.owner, job.owner) || other.governs_others);
          });
      RC_ASSERT(!contains(made.stop, job.id) || wanted);
    }
  });
}

RC_GTEST_PROP(EveryPolicy, IsContentOnceItsDecisionIsCarriedOut, ()) {
  for_every_policy([](const Policy& policy, const View& view, const Parameters& parameters,
                      const Decision& made) {
    const Decision next = policy.decide(carried_out(view, made), parameters);
    RC_ASSERT(next.stop.empty());
    RC_ASSERT(next.start.empty());
  });
}

RC_GTEST_PROP(EveryPolicy, StartsEverybodyWithinBoundsWhenAllIsIdle, ()) {
  for_every_policy(
      [](const Policy& policy, View view, const Parameters& parameters, const Decision&) {
        u64 bound = 0;
        for (JobView& job : view.jobs) {
          job.busy = false;
          bound = std::max({bound, job.idle_since_ns, job.earliest_start_ns});
        }
        view.now_ns = bound + std::max(parameters.linger_max_ns, parameters.linger_min_ns) + 1;
        view.now_ns = std::max(view.now_ns, at(kNowMs));
        const Decision decision = policy.decide(view, parameters);
        for (const JobView& job : view.jobs) {
          RC_ASSERT(!down(job) || contains(decision.start, job.id));
        }
      });
}

RC_GTEST_PROP(EveryPolicy, StartsEverybodyWhenBusyWorkHangs, ()) {
  for_every_policy(
      [](const Policy& policy, View view, const Parameters& parameters, const Decision&) {
        view.now_ns = at(2 * kNowMs) + parameters.max_stop_ns + parameters.linger_max_ns + 10 * kMs;
        const Decision decision = policy.decide(view, parameters);
        for (const JobView& job : view.jobs) {
          RC_ASSERT(!down(job) || contains(decision.start, job.id));
        }
      });
}

// Whatever the decision would be at a later time, it is announced: without events, nothing changes
// before look_again_ns, and if it is not set, nothing changes at all.
RC_GTEST_PROP(EveryPolicy, SaysWhenToLookAgain, ()) {
  for_every_policy([](const Policy& policy, const View& view, const Parameters& parameters,
                      const Decision& made) {
    View later = carried_out(view, made);
    const auto announced = policy.decide(later, parameters).look_again_ns;
    RC_ASSERT(!announced || *announced > view.now_ns);
    const u64 step = *rc::gen::inRange<u64>(1, 3 * kNowMs) * kMs;
    later.now_ns = announced ? std::min(view.now_ns + step, *announced - 1) : view.now_ns + step;
    const Decision unannounced = policy.decide(later, parameters);
    RC_ASSERT(unannounced.stop.empty());
    RC_ASSERT(unannounced.start.empty());
  });
}

// Those that are up, and neither may claim nor are of a class that is stopped: the engine does not
// even show them.
RC_GTEST_PROP(EveryPolicy, DecidesTheSameWithoutJobsAtRest, ()) {
  for_every_policy([](const Policy& policy, const View& view, const Parameters& parameters,
                      const Decision& made) {
    View less = view;
    std::erase_if(less.jobs, [&](const JobView& job) {
      return !down(job) && !may_claim(view.now_ns, parameters, job) &&
             !is_ever_stopped(job.work_class, parameters);
    });
    const Decision decision = policy.decide(less, parameters);
    RC_ASSERT(decision.stop == made.stop);
    RC_ASSERT(decision.start == made.start);
    RC_ASSERT(decision.look_again_ns == made.look_again_ns);
  });
}

// And neither does it show those that could be stopped while nobody on their nodes may claim.
RC_GTEST_PROP(EveryPolicy, LeavesJobsAloneWhereNobodyMayClaim, ()) {
  for_every_policy(
      [](const Policy& policy, View view, const Parameters& parameters, const Decision&) {
        for (JobView& job : view.jobs) {
          job.busy = false;
          job.idle_since_ns = 0;
          job.state = JobState::running;
        }
        const Decision decision = policy.decide(view, parameters);
        RC_ASSERT(decision.stop.empty());
        RC_ASSERT(decision.start.empty());
        RC_ASSERT(!decision.look_again_ns);
      });
}

TEST(PolicyTable, FindsPoliciesByName) {
  for (const Policy& policy : policies()) {
    EXPECT_EQ(find(policy.name), &policy);
  }
  EXPECT_EQ(find("fair"), nullptr);
}

TEST(ParameterTable, DefaultsAreWithinTheirBounds) {
  const Parameters defaults;
  for (const ParameterInfo& info : parameter_table()) {
    const double value = info.duration_ns ? static_cast<double>(defaults.*info.duration_ns)
                         : info.fraction  ? defaults.*info.fraction
                                          : defaults.*info.flag;
    EXPECT_GE(value, info.lowest) << info.name;
    EXPECT_LE(value, info.highest) << info.name;
  }
}

}  // namespace
}  // namespace gp::policy
