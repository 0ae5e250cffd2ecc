#include "policy/rules.h"

namespace gp::policy {

bool may_be_stopped(const JobView& job, const Parameters& parameters) {
  const bool class_allows = job.work_class == WorkClass::offline ||
                            (job.work_class == WorkClass::normal && parameters.stop_normal);
  return job.stoppable && class_allows && !job.awaited;
}

bool is_ever_stopped(WorkClass work_class, const Parameters& parameters) {
  switch (work_class) {
    case WorkClass::offline: return true;
    case WorkClass::normal: return parameters.stop_normal;
    case WorkClass::online: return parameters.stop_online;
  }
  return true;
}

bool may_claim(u64 now_ns, const Parameters& parameters, const JobView& job) {
  return is_busy(job) || (job.busy && job.idle_since_ns != 0 &&
                          now_ns < later(job.idle_since_ns, longest_linger_ns(parameters)));
}

bool may_stop(const JobView& claimant, const JobView& victim) {
  if (claimant.id == victim.id) {
    return false;
  }
  if (!may_act_on(claimant.owner, victim.owner) && !claimant.governs_others) {
    return false;
  }
  return std::find_first_of(claimant.nodes.begin(), claimant.nodes.end(), victim.nodes.begin(),
                            victim.nodes.end()) != claimant.nodes.end();
}

u64 ignored_from_ns(const JobView& claimant, const Parameters& parameters) {
  return later(std::max(claimant.busy_since_ns, claimant.progress_ns), parameters.max_stop_ns);
}

Wish claim(const View& view, const Parameters& parameters, const JobView& claimant,
           const JobView& victim) {
  if (is_busy(claimant)) {
    const u64 until = ignored_from_ns(claimant, parameters);
    return view.now_ns < until ? Wish{true, until} : Wish{};
  }
  if (!is_down(victim) || !claimant.busy || claimant.idle_since_ns == 0) {
    return {};
  }
  const u64 linger_ns = std::min(claimant.linger_ns, longest_linger_ns(parameters));
  const u64 until = later(claimant.idle_since_ns, linger_ns);
  return view.now_ns < until ? Wish{true, until} : Wish{};
}

Wish either(const Wish& a, const Wish& b) {
  if (a.stop && b.stop) {
    return {true, std::max(a.again_ns, b.again_ns)};  // the later one decides when it ends
  }
  if (a.stop || b.stop) {
    return a.stop ? a : b;
  }
  return {false, sooner(a.again_ns, b.again_ns)};
}

Wish settled(const View& view, const Parameters& parameters, const JobView& job, Wish wish) {
  if (wish.stop && !is_down(job)) {
    const u64 ready = later(job.state_since_ns, parameters.min_run_ns);
    if (view.now_ns < ready) {
      return {false, ready};
    }
  }
  if (!wish.stop && is_down(job) && view.now_ns < job.earliest_start_ns) {
    return {true, job.earliest_start_ns};
  }
  return wish;
}

void apply(const View& view, const JobView& job, const Wish& wish, Decision& decision) {
  if (wish.stop && !is_down(job)) {
    decision.stop.push_back(job.id);
  } else if (!wish.stop && is_down(job)) {
    decision.start.push_back(job.id);
  }
  if (wish.again_ns && *wish.again_ns > view.now_ns) {
    decision.look_again_ns = sooner(decision.look_again_ns, wish.again_ns);
  }
}

Wish strict_wish(const View& view, const Parameters& parameters, const JobView& job) {
  Wish wish;
  for (const JobView& claimant : view.jobs) {
    if (claimant.work_class == WorkClass::online && may_stop(claimant, job)) {
      wish = either(wish, claim(view, parameters, claimant, job));
    }
  }
  return wish;
}

}  // namespace gp::policy
