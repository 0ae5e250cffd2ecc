#include "sched/room.h"

#include <algorithm>
#include <set>

namespace gp::sched {
namespace {

class Slots {
 public:
  explicit Slots(const RoomView& view) : view_(view) {
    for (const RoomJob& job : view.jobs) {
      for (const auto& [gpu_id, count] : job.queues) {
        used_[gpu_id] += job.down ? 0 : count;
        if (job.online && count != 0) {
          wanted_[gpu_id].insert(job.owner);
          wanted_by_all_[gpu_id] |= job.governs_others;
        }
      }
    }
  }
  void take(const RoomJob& job) { change(job, 1); }
  void give(const RoomJob& job) { change(job, -1); }

  bool is_short(u32 gpu_id, const Owner& owner) const {
    const auto slots = view_.slots.find(gpu_id);
    const auto used = used_.find(gpu_id);
    return is_wanted(gpu_id, owner) && slots != view_.slots.end() && used != used_.end() &&
           used->second + view_.reserve > slots->second;
  }
  bool short_somewhere(const RoomJob& job) const {
    return std::any_of(job.queues.begin(), job.queues.end(), [&](const auto& queues) {
      return queues.second != 0 && is_short(queues.first, job.owner);
    });
  }

 private:
  // By whoever may stop jobs of this owner.
  bool is_wanted(u32 gpu_id, const Owner& owner) const {
    const auto wanted = wanted_.find(gpu_id);
    return wanted != wanted_.end() && (wanted_by_all_.at(gpu_id) ||
                                       std::ranges::any_of(wanted->second, [&](const Owner& other) {
                                         return may_act_on(other, owner);
                                       }));
  }
  void change(const RoomJob& job, i64 sign) {
    for (const auto& [gpu_id, count] : job.queues) {
      used_[gpu_id] += sign * static_cast<i64>(count);
    }
  }

  const RoomView& view_;
  std::map<u32, i64> used_;
  std::map<u32, std::set<Owner>> wanted_;  // where an online job has queues, by its owner
  std::map<u32, bool> wanted_by_all_;      // also by one that may stop jobs of others
};

bool is_busy(const RoomJob& job) { return job.busy.value_or(true); }

bool is_idle_for_long(const RoomView& view, const RoomJob& job) {
  return !is_busy(job) && job.idle_since_ns + view.idle_ns <= view.now_ns;
}

// Those that may be asked, the longest idle first.
std::vector<const RoomJob*> candidates(const RoomView& view) {
  std::vector<const RoomJob*> jobs;
  for (const RoomJob& job : view.jobs) {
    if (!job.online && job.may_be_stopped && !job.down && !is_busy(job)) {
      jobs.push_back(&job);
    }
  }
  std::stable_sort(jobs.begin(), jobs.end(), [](const RoomJob* a, const RoomJob* b) {
    return a->idle_since_ns < b->idle_since_ns;
  });
  return jobs;
}

std::vector<const RoomJob*> choose(const RoomView& view, Slots& slots, RoomDecision& decision) {
  std::vector<const RoomJob*> chosen;
  for (const RoomJob* job : candidates(view)) {
    if (!slots.short_somewhere(*job)) {
      continue;
    }
    if (is_idle_for_long(view, *job)) {
      slots.give(*job);
      chosen.push_back(job);
    } else {
      const u64 then_ns = job->idle_since_ns + view.idle_ns;
      decision.look_again_ns = std::min(decision.look_again_ns.value_or(then_ns), then_ns);
    }
  }
  // One with many queues may have made those before it unnecessary.
  std::erase_if(chosen, [&](const RoomJob* job) {
    slots.take(*job);
    if (!slots.short_somewhere(*job)) {
      return true;
    }
    slots.give(*job);
    return false;
  });
  return chosen;
}

}  // namespace

RoomDecision make_room(const RoomView& view) {
  RoomDecision decision;
  Slots slots(view);
  for (const RoomJob& job : view.jobs) {
    if (job.made_room && is_busy(job)) {
      slots.take(job);
      decision.start.push_back(job.id);
    }
  }
  for (const RoomJob* job : choose(view, slots, decision)) {
    decision.stop.push_back(job->id);
  }
  for (const RoomJob& job : view.jobs) {
    if (!job.made_room || is_busy(job)) {
      continue;
    }
    slots.take(job);
    if (slots.short_somewhere(job)) {
      slots.give(job);
    } else {
      decision.start.push_back(job.id);
    }
  }
  return decision;
}

}  // namespace gp::sched
