#include "sched/job_index.h"

#include <algorithm>

namespace gp::sched {

void JobIndex::unfile(const Job& job) {
  for (auto& [gpu_id, victims] : victims_) {
    std::erase(victims, &job);
  }
}

void JobIndex::file(Job& job, bool victim) {
  unfile(job);
  if (!victim) {
    return;
  }
  for (const u32 gpu_id : job.nodes) {
    victims_[gpu_id].push_back(&job);
  }
}

void JobIndex::remove(Job& job) {
  unfile(job);
  std::erase(attended_, &job);
  job.attended = false;
}

void JobIndex::collect(std::vector<Job*>& jobs) const {
  jobs.assign(attended_.begin(), attended_.end());
  for (const auto& [gpu_id, victims] : victims_) {
    const auto is_there = [id = gpu_id](const Job* job) {
      return std::binary_search(job->nodes.begin(), job->nodes.end(), id);
    };
    if (std::any_of(attended_.begin(), attended_.end(), is_there)) {
      jobs.insert(jobs.end(), victims.begin(), victims.end());
    }
  }
  const auto by_id = [](const Job* a, const Job* b) { return a->id < b->id; };
  std::sort(jobs.begin(), jobs.end(), by_id);
  jobs.erase(std::unique(jobs.begin(), jobs.end()), jobs.end());
}

}  // namespace gp::sched
