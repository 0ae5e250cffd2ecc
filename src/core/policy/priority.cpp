// `priority`: any number of levels. On each GPU a job is stopped while one of a higher level has
// work there; jobs of equal level run together. A job counts only while it runs itself: one that is
// stopped because of one GPU does not keep its other GPUs empty.
#include "policy/rules.h"

namespace gp::policy {
namespace {

bool may_be_stopped_by_level(const JobView& job, const Parameters& parameters) {
  if (job.work_class == WorkClass::online) {
    return job.stoppable && parameters.stop_online && !job.awaited;
  }
  return may_be_stopped(job, parameters);
}

// The jobs by falling level, those of one level in the order of their ids.
std::vector<const JobView*> by_level(const View& view) {
  std::vector<const JobView*> jobs;
  for (const JobView& job : view.jobs) {
    jobs.push_back(&job);
  }
  std::sort(jobs.begin(), jobs.end(), [](const JobView* a, const JobView* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->id < b->id;
  });
  return jobs;
}

}  // namespace

Decision priority(const View& view, const Parameters& parameters) {
  Decision decision;
  std::vector<const JobView*> up;  // those that run, highest level first
  for (const JobView* job : by_level(view)) {
    Wish wish;
    for (const JobView* claimant : up) {
      if (claimant->priority > job->priority && may_stop(*claimant, *job)) {
        wish = either(wish, claim(view, parameters, *claimant, *job));
      }
    }
    wish =
        may_be_stopped_by_level(*job, parameters) ? settled(view, parameters, *job, wish) : Wish{};
    apply(view, *job, wish, decision);
    if (!wish.stop) {
      up.push_back(job);
    }
  }
  return decision;
}

}  // namespace gp::policy
