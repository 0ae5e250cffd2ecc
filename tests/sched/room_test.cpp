// Which idle offline jobs give up their slots: a table of situations, what always holds, and the
// engine that does it.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "sched/room.h"
#include "sched/sched_support.h"

namespace gp::sched {
namespace {

using Ids = std::vector<policy::JobId>;
constexpr u64 kNow = 100 * kSecond, kIdle = 1 * kSecond;

RoomJob online_with(u32 queues) {
  RoomJob job;
  job.id = 1;
  job.online = true;
  job.busy = false;
  job.queues = {{1, queues}};
  return job;
}
RoomJob idle_with(policy::JobId id, u32 queues, u64 for_ns) {
  RoomJob job;
  job.id = id;
  job.may_be_stopped = true;
  job.busy = false;
  job.idle_since_ns = kNow - for_ns;
  job.queues = {{1, queues}};
  return job;
}
RoomView view_of(std::vector<RoomJob> jobs) {
  return {
      .now_ns = kNow, .idle_ns = kIdle, .reserve = 2, .jobs = std::move(jobs), .slots = {{1, 8}}};
}

TEST(Room, IsNotMadeWhereThereIsEnough) {
  const auto decision = make_room(view_of({online_with(2), idle_with(2, 4, 10 * kSecond)}));
  EXPECT_TRUE(decision.stop.empty());
  EXPECT_FALSE(decision.look_again_ns);
}

TEST(Room, IsMadeByTheLongestIdleAndNoMoreThanNeeded) {
  const auto decision = make_room(
      view_of({online_with(2), idle_with(2, 3, 5 * kSecond), idle_with(3, 3, 9 * kSecond)}));
  EXPECT_EQ(decision.stop, Ids{3});
}

TEST(Room, IsNotMadeForOfflineJobs) {
  const auto decision =
      make_room(view_of({idle_with(2, 6, 5 * kSecond), idle_with(3, 6, 9 * kSecond)}));
  EXPECT_TRUE(decision.stop.empty());
}

TEST(Room, IsMadeByNobodyWhoHasBeenIdleForAMomentOnly) {
  const auto decision = make_room(view_of({online_with(2), idle_with(2, 6, kIdle / 4)}));
  EXPECT_TRUE(decision.stop.empty());
  EXPECT_EQ(decision.look_again_ns, kNow + kIdle * 3 / 4);
}

TEST(Room, IsGivenBackToWhoHasWork) {
  RoomJob job = idle_with(2, 6, 5 * kSecond);
  job.down = job.made_room = true;
  EXPECT_TRUE(make_room(view_of({online_with(2), job})).start.empty());
  job.busy = true;
  EXPECT_EQ(make_room(view_of({online_with(2), job})).start, Ids{2});
}

TEST(Room, IsGivenBackWhenTheOnlineJobHasGone) {
  RoomJob job = idle_with(2, 6, 5 * kSecond);
  job.down = job.made_room = true;
  EXPECT_EQ(make_room(view_of({job})).start, Ids{2});
}

TEST(Room, IsMadeForTheSameUserOrByGrantOnly) {
  RoomJob online = online_with(2);
  online.owner.uid = 7;
  EXPECT_TRUE(make_room(view_of({online, idle_with(2, 6, 5 * kSecond)})).stop.empty());
  online.governs_others = true;
  EXPECT_EQ(make_room(view_of({online, idle_with(2, 6, 5 * kSecond)})).stop, Ids{2});
  online.governs_others = false;
  online.owner = {0, false};  // of a container
  EXPECT_TRUE(make_room(view_of({online, idle_with(2, 6, 5 * kSecond)})).stop.empty());
}

// ---- what always holds ----

RoomView some_view() {
  RoomView view = view_of({});
  view.reserve = *rc::gen::inRange<u32>(0, 3);
  for (u32 gpu_id = 1; gpu_id <= 2; ++gpu_id) {
    view.slots[gpu_id] = *rc::gen::inRange<u32>(1, 12);
  }
  const auto count = *rc::gen::inRange<policy::JobId>(0, 8);
  for (policy::JobId id = 1; id <= count; ++id) {
    RoomJob job;
    job.id = id;
    job.online = *rc::gen::inRange(0, 4) == 0;
    job.may_be_stopped = *rc::gen::arbitrary<bool>();
    job.made_room = !job.online && *rc::gen::inRange(0, 3) == 0;
    job.down = job.made_room || *rc::gen::inRange(0, 4) == 0;
    if (*rc::gen::inRange(0, 4) != 0) {
      job.busy = *rc::gen::arbitrary<bool>();
    }
    job.idle_since_ns = kNow - *rc::gen::inRange<u64>(0, 3 * kIdle);
    for (u32 gpu_id = 1; gpu_id <= 3; ++gpu_id) {  // of the third node nothing is known
      job.queues[gpu_id] = *rc::gen::inRange<u32>(0, 6);
    }
    view.jobs.push_back(job);
  }
  return view;
}

bool contains(const Ids& ids, policy::JobId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

RoomView carried_out(RoomView view, const RoomDecision& decision) {
  for (RoomJob& job : view.jobs) {
    if (contains(decision.stop, job.id)) {
      job.down = job.made_room = true;
    } else if (contains(decision.start, job.id)) {
      job.down = job.made_room = false;
    }
  }
  return view;
}

bool is_short(const RoomView& view, u32 gpu_id) {
  u32 used = view.reserve;
  bool wanted = false;
  for (const RoomJob& job : view.jobs) {
    used += job.down ? 0 : job.queues.at(gpu_id);
    wanted |= job.online && job.queues.at(gpu_id) != 0;
  }
  return wanted && used > view.slots.at(gpu_id);
}

RC_GTEST_PROP(RoomAlways, StopsOnlyWhatMayBeStoppedAndHasBeenIdle, ()) {
  const RoomView view = some_view();
  const RoomDecision decision = make_room(view);
  for (const RoomJob& job : view.jobs) {
    if (contains(decision.stop, job.id)) {
      RC_ASSERT(!job.online && job.may_be_stopped && !job.down);
      RC_ASSERT(job.busy == false && job.idle_since_ns + kIdle <= kNow);
    }
    if (contains(decision.start, job.id)) {
      RC_ASSERT(job.made_room);
    }
  }
}

RC_GTEST_PROP(RoomAlways, StartsWhoHasWork, ()) {
  const RoomView view = some_view();
  const RoomDecision decision = make_room(view);
  for (const RoomJob& job : view.jobs) {
    if (job.made_room && job.busy == true) {
      RC_ASSERT(contains(decision.start, job.id));
    }
  }
}

RC_GTEST_PROP(RoomAlways, LeavesANodeShortOnlyIfNobodyCanHelp, ()) {
  const RoomView view = some_view();
  const RoomView after = carried_out(view, make_room(view));
  for (const u32 gpu_id : {1U, 2U}) {
    for (const RoomJob& job : after.jobs) {
      const bool can_help = !job.online && job.may_be_stopped && !job.down && job.busy == false &&
                            job.idle_since_ns + kIdle <= kNow && job.queues.at(gpu_id) != 0;
      RC_ASSERT(!is_short(after, gpu_id) || !can_help);
    }
  }
}

RC_GTEST_PROP(RoomAlways, HasNothingMoreToDoOnceItIsDone, ()) {
  const RoomView view = some_view();
  const RoomDecision again = make_room(carried_out(view, make_room(view)));
  RC_ASSERT(again.stop.empty());
  RC_ASSERT(again.start.empty());
}

// ---- the engine ----

struct Crowded : World {
  Crowded() : World(settings()) {
    engine.set_node(1, {"node", 1, 4});
    server = online();
    training = offline();
    engine.set_queues(now_ns, server, QueueSource::agent, {{1, 2}}, true);
    engine.set_queues(now_ns, training, QueueSource::agent, {{1, 2}}, true);
    settle();
  }
  static Settings settings() {
    Settings settings;
    settings.make_room = true;
    return settings;
  }
  ProcessId server = 0, training = 0;
};

TEST(Room, IsMadeByTheEngineAndGivenBackWhenThereIsWork) {
  Crowded world;
  EXPECT_FALSE(world.stopped(world.training)) << "it has been idle for a moment only";
  world.run_for(2 * kSecond);
  EXPECT_TRUE(world.stopped(world.training));
  EXPECT_TRUE(world.job(world.training).made_room);
  EXPECT_FALSE(world.engine.report(world.now_ns).nodes[0].slots_low);
  world.run_for(60 * kSecond);
  EXPECT_TRUE(world.stopped(world.training)) << "its lease was not extended";
  world.set_busy(world.training, true);
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(world.training));
  EXPECT_FALSE(world.job(world.training).made_room);
}

TEST(Room, IsNotGivenBackWhileOnlineWorkKeepsTheJobStopped) {
  Crowded world;
  world.run_for(2 * kSecond);
  world.set_busy(world.server, true);
  world.set_busy(world.training, true);
  world.run_for(1 * kSecond);
  EXPECT_TRUE(world.stopped(world.training));
  EXPECT_FALSE(world.job(world.training).made_room);
  world.set_busy(world.server, false);
  world.run_for(1 * kSecond);
  EXPECT_FALSE(world.stopped(world.training));
}

TEST(Room, IsGivenBackWhenTheConfigurationNoLongerWantsIt) {
  Crowded world;
  world.run_for(2 * kSecond);
  ASSERT_TRUE(world.stopped(world.training));
  world.engine.configure(world.now_ns, Settings{});
  world.settle();
  world.run_for(10 * kMs);
  EXPECT_FALSE(world.stopped(world.training));
}

}  // namespace
}  // namespace gp::sched
