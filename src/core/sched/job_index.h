// Which jobs an event can concern. Most jobs are at rest most of the time: they run, they have been
// idle for long, nothing is due. They have no say in what the policy decides (policy.h), so an
// event costs what the others cost, however many there are; a look at every job would fetch each of
// them into a cold cache on the way to a stop.
#pragma once

#include <map>
#include <vector>

#include "sched/tables.h"

namespace gp::sched {

class JobIndex {
 public:
  // Something about the job has changed: it is looked at from now on, until it rests again.
  void attend(Job& job) {
    if (!job.attended) {
      job.attended = true;
      attended_.push_back(&job);
    }
  }
  // In the order in which they were attended to. While it is walked by index, it may grow.
  const std::vector<Job*>& attended() const { return attended_; }

  // Its class or its nodes have changed. `victim`: its class is one that may be stopped.
  void file(Job& job, bool victim);
  void remove(Job& job);

  // All that the policy must see, by id: the attended ones, and on their nodes those that they
  // could stop.
  void collect(std::vector<Job*>& jobs) const;

  // Those that rest need no attention any more.
  template <class Predicate>
  void release_if(const Predicate& rests) {
    std::erase_if(attended_, [&](Job* job) {
      job->attended = !rests(*job);
      return !job->attended;
    });
  }

 private:
  void unfile(const Job& job);

  std::vector<Job*> attended_;
  std::map<u32, std::vector<Job*>> victims_;  // by gpu_id
};

}  // namespace gp::sched
