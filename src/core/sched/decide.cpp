// What is due by time alone, the view that the policy gets, and what its decision brings about.
#include <algorithm>
#include <cmath>
#include <utility>

#include "base/log.h"
#include "policy/rules.h"
#include "sched/engine.h"

namespace gp::sched {
namespace {

constexpr double kPriceHalfLifeNs = 1e9;

}  // namespace

using policy::JobState;

// An agent may write anything into its page: a time counts only if it has come and is later than
// what was known before.
void Engine::read_activity(u64 now_ns, Process& process) {
  const auto activity = effects_.activity(process.id);
  if (!activity) {
    return;
  }
  index_.attend(job_of(process));
  const bool was_busy = process.busy.value_or(false);
  const auto plausible = [&](u64 time_ns, u64 not_before_ns) {
    return time_ns > not_before_ns && time_ns <= now_ns ? time_ns : now_ns;
  };
  if (activity->completed != process.completed) {
    process.completed = activity->completed;
    process.progress_ns = now_ns;
  }
  if (activity->busy && !was_busy) {
    process.busy_since_ns = plausible(activity->busy_since_ns, process.idle_since_ns);
    if (job_of(process).work_class == WorkClass::online) {
      notice_ns_ = std::max(notice_ns_.value_or(0), process.busy_since_ns);
    }
  } else if (!activity->busy && was_busy) {
    process.idle_since_ns = plausible(activity->idle_since_ns, process.busy_since_ns);
  }
  process.busy = activity->busy;
  set_waits(process, activity->busy ? activity->waits_for & ~bit_of(process.facts.part) : 0);
  if (activity->overdue_starts != process.overdue_starts) {
    process.overdue_starts = activity->overdue_starts;
    if (is_inside(process.mechanism)) {
      lease_ended(now_ns, process.id);
    }
  }
}

void Engine::set_waits(Process& process, u32 parts) {
  if (process.waits_for == 0 && parts != 0) {
    waiting_.push_back(process.id);
  } else if (process.waits_for != 0 && parts == 0) {
    std::erase(waiting_, process.id);
  }
  process.waits_for = parts;
}

// Whether online work waits for work of this job in the same process: an event of another stream,
// mostly. To stop it would stop both. It is as urgent as what waits for it, so nobody else may stop
// it either.
bool Engine::is_awaited(const Job& job) const {
  return std::any_of(waiting_.begin(), waiting_.end(), [&](ProcessId id) {
    const Process& waiting = processes_.at(id);
    return waiting.job->work_class == WorkClass::online &&
           std::any_of(job.processes.begin(), job.processes.end(), [&](const Process* process) {
             return process->facts.key == waiting.facts.key &&
                    (waiting.waits_for & bit_of(process->facts.part)) != 0;
           });
  });
}

// An outside stop under way is kept alive even if it is not wanted any more: the guardian must see
// that we live, for if we hang now, the driver stops the process all the same.
bool Engine::keeps_lease(const Process& process) const {
  if (process.phase == Phase::stopping && !is_inside(process.mechanism)) {
    return true;
  }
  const bool held = process.phase == Phase::stopped || process.phase == Phase::stopping;
  return held && process.job->down;
}

void Engine::extend_lease(u64 now_ns, Process& process) {
  if (keeps_lease(process) && now_ns + settings_.lease_ns / 2 >= process.deadline_ns) {
    process.deadline_ns = now_ns + settings_.lease_ns;
    effects_.carry_out({Verb::extend, process.id, process.mechanism, 0, process.deadline_ns});
  }
}

void Engine::do_what_is_due(u64 now_ns) {
  // By index, here and below: what is due at one job may call for attention to it.
  for (std::size_t i = 0; i < index_.attended().size(); ++i) {
    for (Process* process : index_.attended()[i]->processes) {
      if (process->phase != Phase::running || process->busy.value_or(false)) {
        read_activity(now_ns, *process);
      }
      if (process->answer_due_ns && now_ns >= *process->answer_due_ns) {
        no_answer(now_ns, *process);
      }
      extend_lease(now_ns, *process);
    }
  }
  for (std::size_t i = 0; i < index_.attended().size(); ++i) {
    Job& job = *index_.attended()[i];
    std::erase_if(job.holds, [&](const Hold& hold) { return now_ns >= hold.until_ns; });
    if (job.blocked_until_ns && now_ns >= *job.blocked_until_ns) {
      job.blocked_until_ns.reset();
      for (Process* process : job.processes) {
        process->failures.clear();
        bring(now_ns, *process);
      }
    }
  }
}

// Busy if any of its processes is: since the first of them, idle since the last.
void Engine::view_activity(const Job& job, policy::JobView& view) {
  view.busy.reset();
  view.busy_since_ns = view.idle_since_ns = view.progress_ns = 0;
  const auto add = [&](bool busy, u64 busy_since_ns, u64 idle_since_ns) {
    if (busy) {
      const bool first = !view.busy.value_or(false);
      view.busy_since_ns = first ? busy_since_ns : std::min(view.busy_since_ns, busy_since_ns);
    }
    view.busy = view.busy.value_or(false) || busy;
    view.idle_since_ns = std::max(view.idle_since_ns, idle_since_ns);
  };
  for (const Process* process : job.processes) {
    if (process->busy) {
      add(*process->busy, process->busy_since_ns, process->idle_since_ns);
    }
    if (process->marked_since_ns != 0) {
      add(process->online_marks != 0, process->marked_since_ns, process->unmarked_since_ns);
    }
    view.progress_ns = std::max(view.progress_ns, process->progress_ns);
  }
}

// Its bursts of work, and the gaps between them.
void Engine::follow_activity(u64 now_ns, Job& job, const policy::JobView& view) {
  const bool busy = view.busy.value_or(false);
  if (busy != job.was_busy) {
    note(now_ns, busy ? TraceKind::busy : TraceKind::idle, job);
    if (!busy && view.idle_since_ns > job.was_busy_since_ns) {
      job.burst_ns.add(view.idle_since_ns - job.was_busy_since_ns);
    }
    if (busy && job.was_idle_since_ns != 0 && view.busy_since_ns > job.was_idle_since_ns) {
      job.linger.gap_ended(view.busy_since_ns - job.was_idle_since_ns);
    }
    job.linger_due = !busy;
    job.was_busy = busy;
  }
  job.was_busy_since_ns = view.busy_since_ns;
  job.was_idle_since_ns = view.idle_since_ns;
}

// Of a job that has not been stopped and started yet, what its GPUs have seen; empty before that.
std::optional<policy::StopCost> Engine::stop_cost(const Job& job) const {
  std::optional<u64> stop_ns = job.stop_ns.value(), start_ns = job.start_ns.value();
  for (const u32 gpu_id : job.nodes) {
    const auto node = nodes_.find(gpu_id);
    if (node != nodes_.end()) {
      stop_ns = stop_ns ? stop_ns : node->second.stop_ns.value();
      start_ns = start_ns ? start_ns : node->second.start_ns.value();
    }
  }
  return stop_ns && start_ns ? std::optional(policy::StopCost{*stop_ns, *start_ns}) : std::nullopt;
}

// They are stopped and started at the same time: the slowest counts, which may have waited for the
// others in the driver.
//
// While a job is stopped nothing new is measured. So that one slow stop, the first perhaps, does
// not keep a job stopped for as long as online work comes back soon, what was measured counts half
// with every second that the stop has lasted. A price that is high for a reason is tried again
// after some seconds, and found to be so.
std::optional<policy::StopCost> Engine::cost_of_stops_for(const policy::JobView& claimant) const {
  const auto faded = [](u64 cost_ns, u64 age_ns) {
    return static_cast<u64>(static_cast<double>(cost_ns) *
                            std::exp2(-static_cast<double>(age_ns) / kPriceHalfLifeNs));
  };
  std::optional<policy::StopCost> all;
  for (std::size_t i = 0; i < viewed_.size(); ++i) {
    const policy::JobView& victim = view_.jobs[i];
    const bool counts = policy::is_down(victim) && policy::may_stop(claimant, victim);
    if (const auto one = counts ? stop_cost(*viewed_[i]) : std::nullopt) {
      const u64 age_ns = view_.now_ns - std::min(view_.now_ns, victim.state_since_ns);
      all = all.value_or(policy::StopCost{});
      all->stop_ns = std::max(all->stop_ns, faded(one->stop_ns, age_ns));
      all->start_ns = std::max(all->start_ns, faded(one->start_ns, age_ns));
    }
  }
  return all;
}

bool Engine::is_stoppable(const Job& job) const {
  if (closed_ || job.blocked_until_ns) {
    return false;
  }
  return std::all_of(job.processes.begin(), job.processes.end(), [this](const Process* process) {
    const bool can_be_stopped =
        process->phase != Phase::running || best_mechanism(*process).has_value();
    return !process->has_queues() || (can_be_stopped && process->prepare_sequence == 0);
  });
}

void Engine::view_job(u64 now_ns, const Job& job, policy::JobView& view) const {
  view.id = job.id;
  view.work_class = job.work_class;
  view.priority = job.priority;
  view.owner = job.owner;
  view.governs_others = job.governs_others;
  view.nodes.assign(job.nodes.begin(), job.nodes.end());
  view.state = job.down ? (job.arrived ? JobState::stopped : JobState::stopping)
                        : (job.arrived ? JobState::running : JobState::starting);
  view.stoppable = is_stoppable(job);
  view.awaited = is_awaited(job);
  view.state_since_ns = job.since_ns;
  view.previous_stop_ns = job.previous_stop_ns;
  view.earliest_start_ns = job.down ? job.stops_allowed.next_ns(now_ns, settings_.stops_per_second,
                                                                settings_.stops_at_once)
                                    : 0;
  view.latency_target_ns = job.latency_target_ns;
  view_activity(job, view);
  view.burst_ns = job.burst_ns.value();
  view.linger_ns = job.linger.planned().ns;
  const auto cost = stop_cost(job);
  view.stop_ns = cost ? std::optional(cost->stop_ns) : std::nullopt;
}

void Engine::build_view(u64 now_ns) {
  index_.collect(viewed_);
  std::erase_if(viewed_, [](const Job* job) { return !job->holds.empty(); });
  view_.now_ns = now_ns;
  view_.jobs.resize(viewed_.size());
  for (std::size_t i = 0; i < viewed_.size(); ++i) {
    policy::JobView& view = view_.jobs[i];
    view_job(now_ns, *viewed_[i], view);
    follow_activity(now_ns, *viewed_[i], view);
    view.burst_ns = viewed_[i]->burst_ns.value();
  }
  for (std::size_t i = 0; i < viewed_.size(); ++i) {
    Job& job = *viewed_[i];
    if (std::exchange(job.linger_due, false)) {
      job.linger.plan(settings_.parameters, cost_of_stops_for(view_.jobs[i]));
      view_.jobs[i].linger_ns = job.linger.planned().ns;
    }
  }
}

policy::View Engine::view_of_all(u64 now_ns) const {
  policy::View view;
  view.now_ns = now_ns;
  for (const auto& [id, job] : jobs_) {
    if (job.holds.empty()) {
      view_job(now_ns, job, view.jobs.emplace_back());
    }
  }
  return view;
}

// It runs, nothing of it is due, and no policy would stop others for it. Once the policy has seen
// it like this, only an event can change what is decided about it or because of it.
bool Engine::is_at_rest(u64 now_ns, const Job& job) const {
  if (job.down || !job.arrived || !job.holds.empty() || job.blocked_until_ns) {
    return false;
  }
  const auto runs = [](const Process* process) {
    return process->phase == Phase::running && !process->answer_due_ns;
  };
  policy::JobView activity;
  view_activity(job, activity);
  return std::all_of(job.processes.begin(), job.processes.end(), runs) &&
         !policy::may_claim(now_ns, settings_.parameters, activity);
}

Job& Engine::viewed_job(JobId id) const {
  return **std::lower_bound(viewed_.begin(), viewed_.end(), id,
                            [](const Job* job, JobId wanted) { return job->id < wanted; });
}

void Engine::put_down(u64 now_ns, Job& job) {
  index_.attend(job);
  job.down = true;
  job.arrived = false;
  job.arrival_due = true;
  job.since_ns = now_ns;
  job.notice_ns = notice_ns_;
  ++job.preemptions;
  job.stops_allowed.take(now_ns, settings_.stops_per_second, settings_.stops_at_once);
  note(now_ns, TraceKind::stop_decided, job);
  bring_all(now_ns, job);
}

void Engine::let_up(u64 now_ns, Job& job) {
  index_.attend(job);
  job.down = false;
  job.arrived = false;
  job.arrival_due = true;
  job.log_due = true;
  job.previous_stop_ns = now_ns - job.since_ns;
  job.stopped_total_ns += job.previous_stop_ns;
  job.since_ns = now_ns;
  note(now_ns, TraceKind::start_decided, job);
  bring_all(now_ns, job);
}

void Engine::settle(u64 now_ns) {
  for (const ProcessId id : woken_) {
    if (Process* process = get(id)) {
      read_activity(now_ns, *process);
    }
  }
  woken_.clear();
  do_what_is_due(now_ns);
  const std::optional<u64> room_wake_ns = keep_room(now_ns);
  build_view(now_ns);
  const policy::Decision decision = settings_.policy->decide(view_, settings_.parameters);
  if (notice_ns_ && !decision.stop.empty() && *notice_ns_ <= now_ns) {
    latencies_.notify_to_decision.add(now_ns - *notice_ns_);
  }
  for (const JobId id : decision.stop) {
    put_down(now_ns, viewed_job(id));
  }
  for (const JobId id : decision.start) {
    let_up(now_ns, viewed_job(id));
  }
  notice_ns_.reset();
  index_.release_if([&](const Job& job) { return is_at_rest(now_ns, job); });
  plan_wake(now_ns, decision.look_again_ns, room_wake_ns);
}

void Engine::plan_wake(u64 now_ns, std::optional<u64> policy_wake_ns,
                       std::optional<u64> room_wake_ns) {
  wake_ns_ = policy_wake_ns;
  const auto at = [&](u64 time_ns) {
    const u64 future_ns = std::max(time_ns, now_ns + 1);
    wake_ns_ = std::min(wake_ns_.value_or(future_ns), future_ns);
  };
  if (room_wake_ns) {
    at(*room_wake_ns);
  }
  for (const Job* job : index_.attended()) {
    for (const Process* process : job->processes) {
      if (process->answer_due_ns) {
        at(*process->answer_due_ns);
      }
      if (keeps_lease(*process)) {
        at(process->deadline_ns - settings_.lease_ns / 2);
      }
    }
    if (job->blocked_until_ns) {
      at(*job->blocked_until_ns);
    }
    for (const Hold& hold : job->holds) {
      if (hold.holder != Hold::kRoom) {
        at(hold.until_ns);
      }
    }
  }
}

// An agent that starts its queues is not waited for, its own lease ends them.
std::optional<u64> Engine::earliest_deadline_ns() const {
  std::optional<u64> earliest;
  for (const Job* job : index_.attended()) {
    for (const Process* process : job->processes) {
      const bool counts = process->phase == Phase::stopped || process->phase == Phase::stopping ||
                          (process->phase == Phase::starting && !is_inside(process->mechanism));
      if (counts) {
        earliest = std::min(earliest.value_or(process->deadline_ns), process->deadline_ns);
      }
    }
  }
  return earliest;
}

}  // namespace gp::sched
