// Hardware slots: when a node has more compute queues than HQDs, its scheduler takes turns among
// them, and an online queue waits for its turn. So it is said before it happens.
#include <algorithm>

#include "base/log.h"
#include "sched/engine.h"

namespace gp::sched {

// An agent does not know ROCr's own queues; who looks from outside knows later.
u32 Engine::queues_of(const Process& process, u32 gpu_id) {
  const auto count_by = [&](QueueSource source) {
    const QueueCounts& counts = process.queues[static_cast<u32>(source)];
    const auto found = counts.find(gpu_id);
    return found == counts.end() ? 0 : found->second;
  };
  // From outside nobody sees which queue is in which part.
  const u32 seen = process.facts.has_parts ? 0 : count_by(QueueSource::seen);
  return std::max(count_by(QueueSource::agent), seen);
}

u32 Engine::queues_on(u32 gpu_id) const {
  u32 sum = 0;
  for (const auto& [id, process] : processes_) {
    sum += process.phase == Phase::stopped ? 0 : queues_of(process, gpu_id);
  }
  return sum;
}

bool Engine::slots_low(u32 gpu_id) const {
  const auto found = nodes_.find(gpu_id);
  if (found == nodes_.end() || !found->second.facts.hqds) {
    return false;
  }
  return queues_on(gpu_id) + settings_.hqd_reserve > *found->second.facts.hqds;
}

void Engine::watch_slots() {
  for (auto& [gpu_id, node] : nodes_) {
    const bool low = slots_low(gpu_id);
    if (low && !node.warned) {
      log_warning("gpu {}: {} compute queues for {} hardware slots; beyond them queues take turns",
                  gpu_id, queues_on(gpu_id), *node.facts.hqds);
    }
    node.warned = low;
  }
}

RoomView Engine::view_room(u64 now_ns) const {
  RoomView view{now_ns, settings_.make_room_idle_ns, settings_.hqd_reserve, {}, {}};
  for (const auto& [gpu_id, node] : nodes_) {
    if (node.facts.hqds) {
      view.slots[gpu_id] = *node.facts.hqds;
    }
  }
  policy::JobView activity;
  for (const auto& [id, job] : jobs_) {
    view_activity(job, activity);
    RoomJob entry;
    entry.id = id;
    entry.owner = job.owner;
    entry.governs_others = job.governs_others;
    entry.online = job.work_class == WorkClass::online;
    entry.may_be_stopped =
        job.work_class == WorkClass::offline && job.holds.empty() && is_stoppable(job);
    entry.down = job.down;
    entry.made_room = job.made_room();
    entry.busy = activity.busy;
    entry.idle_since_ns = std::max(activity.idle_since_ns, job.since_ns);
    for (const Process* process : job.processes) {
      for (const u32 gpu_id : job.nodes) {
        entry.queues[gpu_id] += queues_of(*process, gpu_id);
      }
    }
    view.jobs.push_back(std::move(entry));
  }
  return view;
}

// A job that makes room is held, which keeps the policy's hands off it; let go of, it is the
// policy's again, which may have reasons of its own to keep it stopped. When to look again.
std::optional<u64> Engine::keep_room(u64 now_ns) {
  const auto let_go = [](Job& job) {
    std::erase_if(job.holds, [](const Hold& hold) { return hold.holder == Hold::kRoom; });
  };
  if (!settings_.make_room || closed_) {
    for (Job* job : index_.attended()) {  // a job with a hold is attended
      let_go(*job);
    }
    return std::nullopt;
  }
  const RoomDecision decision = make_room(view_room(now_ns));
  for (const JobId id : decision.start) {
    let_go(jobs_.at(id));
  }
  for (const JobId id : decision.stop) {
    Job& job = jobs_.at(id);
    job.holds.push_back({Hold::kRoom, ~u64{0}});
    put_down(now_ns, job);
  }
  return decision.look_again_ns;
}

}  // namespace gp::sched
