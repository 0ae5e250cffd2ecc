// Room for online queues: which idle offline jobs give up their hardware slots. A pure decision.
//
// A node has a fixed number of slots (HQDs). Beyond that its scheduler takes turns among all
// queues, idle ones included as long as they are mapped, and an online queue waits for its turn.
// A job that has no work loses nothing by being stopped; when it has work again it is started.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "policy/policy.h"

namespace gp::sched {

struct RoomJob {
  policy::JobId id = 0;
  Owner owner;
  bool governs_others = false;  // its owner may stop jobs of others
  bool online = false;
  bool may_be_stopped = false;
  bool down = false;          // its queues have no slots now
  bool made_room = false;     // and that is because of a decision made here
  std::optional<bool> busy;   // unknown without an agent: then it is left alone
  u64 idle_since_ns = 0;      // valid if not busy
  std::map<u32, u32> queues;  // by gpu_id
};

struct RoomView {
  u64 now_ns = 0;
  u64 idle_ns = 0;  // a job counts as idle after so long without work
  u32 reserve = 0;  // free slots there should be
  std::vector<RoomJob> jobs;
  std::map<u32, u32> slots;  // by gpu_id; nodes whose number is unknown are not there
};

struct RoomDecision {
  std::vector<policy::JobId> stop, start;
  std::optional<u64> look_again_ns;  // when a job that is in the way will have been idle for long
};

// Jobs give room only where an online job that may stop them has queues and slots are short; the
// longest idle first, no more than needed. They get it back when they have work, or when there is
// room for them.
RoomDecision make_room(const RoomView& view);

}  // namespace gp::sched
