// Hardware slots: when a node has more compute queues than HQDs, its scheduler takes turns among
// them, and an online queue waits for its turn. So it is said before it happens.
#include <algorithm>

#include "base/log.h"
#include "sched/engine.h"

namespace gp::sched {

u32 Engine::queues_on(u32 gpu_id) const {
  u32 sum = 0;
  for (const auto& [id, process] : processes_) {
    u32 most = 0;  // an agent does not know ROCr's own queues; who looks from outside knows later
    for (const QueueCounts& counts : process.queues) {
      const auto found = counts.find(gpu_id);
      most = std::max(most, found == counts.end() ? 0 : found->second);
    }
    sum += process.phase == Phase::stopped ? 0 : most;
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

}  // namespace gp::sched
