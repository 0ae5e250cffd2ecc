// What the policy is shown is less than there is, and leads to the same decisions: every one of a
// long random life is compared with what the policy says about all jobs.
#include <random>

#include "sched/sched_support.h"

namespace gp::sched {
namespace {

using policy::Decision;
using policy::Parameters;
using policy::Policy;
using policy::View;

// A policy that compares. It has no state of its own, as policies are functions.
const Policy* compared = nullptr;
const Engine* asked_by = nullptr;
std::size_t most_shown = 0;

Decision decide_and_compare(const View& shown, const Parameters& parameters) {
  const Decision decision = compared->decide(shown, parameters);
  if (asked_by != nullptr) {
    const Decision naive = compared->decide(asked_by->view_of_all(shown.now_ns), parameters);
    EXPECT_EQ(decision.stop, naive.stop);
    EXPECT_EQ(decision.start, naive.start);
    EXPECT_EQ(decision.look_again_ns, naive.look_again_ns);
  }
  most_shown = std::max(most_shown, shown.jobs.size());
  return decision;
}

class TheIndex : public testing::TestWithParam<const char*> {
 protected:
  TheIndex() {
    compared = policy::find(GetParam());
    settings.policy = &comparing;
  }
  ~TheIndex() override { asked_by = nullptr; }

  const Policy comparing{"compared", "", true, decide_and_compare};
  Settings settings;
};

// By a look at every process, as the engine itself does not do.
void expect_nothing_forgotten(const World& world, const Settings& settings) {
  std::optional<u64> earliest;
  const auto wake_ns = world.engine.wake_ns().value_or(~u64{0});
  for (const auto& [id, model] : world.models) {
    const Process& process = *world.engine.find(id);
    const Job& job = *world.engine.find_job(id);
    const bool stopped = process.phase == Phase::stopped || process.phase == Phase::stopping;
    if (stopped || (process.phase == Phase::starting && !is_inside(process.mechanism))) {
      earliest = std::min(earliest.value_or(process.deadline_ns), process.deadline_ns);
    }
    const auto woken_by = [&](u64 time_ns) { return wake_ns <= std::max(time_ns, world.now_ns); };
    const u64 slack_ns = 1;  // what was due in the past is done at the next possible moment
    EXPECT_TRUE(!process.answer_due_ns || woken_by(*process.answer_due_ns + slack_ns));
    EXPECT_TRUE(!job.blocked_until_ns || woken_by(*job.blocked_until_ns + slack_ns));
    EXPECT_TRUE(!stopped || !job.down ||
                woken_by(process.deadline_ns - settings.lease_ns / 2 + slack_ns));
    for (const Hold& hold : job.holds) {
      EXPECT_TRUE(hold.holder == Hold::kRoom || woken_by(hold.until_ns + slack_ns));
    }
  }
  EXPECT_EQ(world.engine.earliest_deadline_ns(), earliest);
}

class Life {
 public:
  Life(World& world, u32 seed) : world_(world), random_(seed) {
    for (int i = 0; i < 12; ++i) {
      processes_.push_back(some_process());
    }
  }
  void step();

 private:
  u32 below(u32 limit) { return static_cast<u32>(random_() % limit); }
  ProcessId some_process();
  void mark(ProcessId id);

  World& world_;
  std::mt19937 random_;
  std::vector<ProcessId> processes_;
};

ProcessId Life::some_process() {
  constexpr WorkClass kClasses[] = {WorkClass::offline, WorkClass::normal, WorkClass::online};
  ProcessFacts facts;
  facts.work_class = kClasses[below(3)];
  facts.class_source = ClassSource::run_command;
  facts.priority = below(16);
  facts.owner.uid = below(2);
  facts.governs_others = below(2) != 0;
  facts.job = below(3) == 0 ? "together" : "";
  if (below(3) == 0) {
    facts.latency_target_ns = below(50) * kMs;
  }
  const MechanismSet abilities =
      below(4) == 0 ? MechanismSet() : MechanismSet(Mechanism::self_debug, Mechanism::update_queue);
  return world_.add(facts, abilities, 1 + below(3));
}

void Life::mark(ProcessId id) {
  if (world_.engine.find(id)->online_marks == 0) {
    world_.engine.online_begin(world_.now_ns, id,
                               below(2) ? std::optional(10 * kMs) : std::nullopt);
  } else {
    world_.engine.online_end(world_.now_ns, id);
  }
  world_.settle();
}

void Life::step() {
  ProcessId& one = processes_[below(static_cast<u32>(processes_.size()))];
  switch (below(16)) {
    case 0: world_.of(one).takes_ns = (1 + below(3000)) * kMs; break;
    case 1: world_.of(one).takes_ns = (1 + below(800)) * kUs; break;
    case 2: world_.of(one).silent = !world_.of(one).silent; break;
    case 3:
      world_.of(one).refuses[kMechanisms[below(kMechanismCount)].mechanism] =
          below(2) ? EIO : EBUSY;
      break;
    case 4: world_.of(one).refuses.clear(); break;
    case 5: world_.of(one).start_fails = below(4) == 0; break;
    case 6:
      world_.remove(one);
      one = some_process();
      break;
    case 7: world_.engine.hold(world_.now_ns, one, 1 + below(3), world_.now_ns + kSecond); break;
    case 8: world_.engine.release(world_.now_ns, 1 + below(3), std::nullopt); break;
    case 9: mark(one); break;
    default: world_.set_busy(one, !world_.of(one).activity.busy); break;
  }
  world_.run_for(below(4) == 0 ? below(3000) * kMs : below(3000) * kUs);
}

TEST_P(TheIndex, LeadsToTheDecisionsThatAllJobsWouldLeadTo) {
  for (u32 seed = 1; seed <= 8; ++seed) {
    settings.parameters.stop_normal = seed % 2 == 0;
    settings.parameters.stop_online = seed % 3 == 0;
    settings.parameters.min_run_ns = seed % 4 == 0 ? 2 * kMs : 0;
    settings.make_room = seed % 5 == 0;
    World world(settings);
    world.engine.set_node(1, {"node", 1, 4});
    asked_by = &world.engine;
    Life life(world, seed);
    for (int step = 0; step < 1500 && !HasFailure(); ++step) {
      life.step();
      world.settle();
      expect_nothing_forgotten(world, settings);
    }
    asked_by = nullptr;
  }
}

TEST_P(TheIndex, DoesNotShowIdleJobs) {
  World world(settings);
  const ProcessId server = world.online();
  for (int i = 0; i < 64; ++i) {
    world.set_busy(world.online(), true);
  }
  for (const auto& [id, model] : std::map(world.models)) {
    world.set_busy(id, false);
  }
  world.offline();
  world.run_for(kSecond);
  world.settle();
  most_shown = 0;
  world.set_busy(server, true);
  EXPECT_EQ(most_shown, 2) << "the one that is busy and the one that it may stop";
}

TEST_P(TheIndex, DoesNotShowJobsOfOtherNodes) {
  World world(settings);
  ProcessFacts facts;
  facts.work_class = WorkClass::offline;
  facts.class_source = ClassSource::run_command;
  for (int i = 0; i < 64; ++i) {
    world.add(facts, MechanismSet(Mechanism::self_debug), 2);
  }
  const ProcessId server = world.online();
  world.run_for(kSecond);
  world.settle();
  most_shown = 0;
  world.set_busy(server, true);
  EXPECT_EQ(most_shown, 1);
}

INSTANTIATE_TEST_SUITE_P(Policies, TheIndex, testing::Values("strict", "share", "priority", "slo"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace gp::sched
