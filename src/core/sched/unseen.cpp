// Online work of which no agent tells: who could be watched from outside, and for whom it is worth
// it.
#include <algorithm>

#include "sched/engine.h"

namespace gp::sched {

bool Engine::nobody_tells(const Process& process) {
  return process.job->work_class == WorkClass::online && process.has_queues() &&
         !process.has_agent && process.marked_since_ns == 0;
}

bool Engine::is_work_unseen(ProcessId id) const {
  const Process* process = find(id);
  const bool may_be_seen =
      settings_.read_rings && process != nullptr && process->why_rings_not_read.empty();
  return process != nullptr && nobody_tells(*process) && !process->busy && !may_be_seen &&
         process->facts.agent_refusal.empty();
}

// As policy::may_stop() has it, for any policy.
bool Engine::has_victims(const Job& claimant) const {
  return std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    return job.id != claimant.id && policy::is_ever_stopped(job.work_class, settings_.parameters) &&
           (claimant.governs_others || may_act_on(claimant.owner, job.owner)) &&
           std::find_first_of(job.nodes.begin(), job.nodes.end(), claimant.nodes.begin(),
                              claimant.nodes.end()) != job.nodes.end();
  });
}

std::vector<ProcessId> Engine::worth_watching() const {
  std::vector<ProcessId> ids;
  for (const auto& [id, process] : processes_) {
    if (nobody_tells(process) && has_victims(*process.job)) {
      ids.push_back(id);
    }
  }
  return ids;
}

void Engine::rings_lost(ProcessId id, const std::string& why) {
  Process* process = get(id);
  if (process == nullptr || process->has_agent) {
    return;
  }
  process->why_rings_not_read = why;
  process->busy.reset();
  index_.attend(job_of(*process));
}

}  // namespace gp::sched
