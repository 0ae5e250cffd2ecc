// Events about processes, agents and marks, and the tables they change.
#include "sched/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"

namespace gp::sched {

using discover::ClassSource;

Engine::Engine(Effects& effects, Settings settings)
    : effects_(effects), settings_(std::move(settings)) {}

Process* Engine::get(ProcessId id) {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : &found->second;
}

const Process* Engine::find(ProcessId id) const {
  const auto found = processes_.find(id);
  return found == processes_.end() ? nullptr : &found->second;
}

const Process* Engine::find_pid(pid_t pid) const {
  for (const auto& [id, process] : processes_) {
    if (process.facts.key.pid == pid && process.facts.part == Part::rest) {
      return &process;
    }
  }
  return nullptr;
}

const Job* Engine::find_job(ProcessId id) const {
  const Process* process = find(id);
  return process == nullptr ? nullptr : process->job;
}

void Engine::note(u64 now_ns, TraceKind kind, const Job& job, pid_t pid, i64 value) {
  trace_.add({0, now_ns, kind, job.work_class, job.id, pid, value});
}

ProcessId Engine::add_process(u64 now_ns, const ProcessFacts& facts) {
  const ProcessId id = next_id_++;
  Process& process = processes_[id];
  process.id = id;
  process.facts = facts;
  enter_job(now_ns, process);
  note(now_ns, TraceKind::process_joined, job_of(process), facts.key.pid);
  return id;
}

// A stop does not end because a process calls its job something else: `before` is the one it has
// left, empty if that was nobody's or another owner's. What a client holds it takes along.
void Engine::inherit(u64 now_ns, const Job& before, Job& job) {
  if (job.processes.size() == 1) {
    job.down = before.down;
    job.since_ns = before.since_ns;
    job.notice_ns = before.notice_ns;
    job.stops_allowed = before.stops_allowed;
  }
  for (const Hold& hold : before.holds) {
    const bool is_known = std::any_of(job.holds.begin(), job.holds.end(), [&](const Hold& known) {
      return known.holder == hold.holder;
    });
    if (hold.holder != Hold::kRoom && !is_known) {
      job.holds.push_back(hold);
    }
  }
  if (!job.holds.empty() && !job.down) {
    put_down(now_ns, job);
  }
  job.arrived = false;
}

// A named job is one owner's: nobody can put processes of theirs into a job of somebody else.
void Engine::enter_job(u64 now_ns, Process& process, const Job* before) {
  Job* joined = nullptr;
  for (auto& [id, job] : jobs_) {
    if (!process.facts.job.empty() && job.name == process.facts.job &&
        job.owner == process.facts.owner) {
      joined = &job;
    }
  }
  if (joined == nullptr) {
    const JobId id = next_id_++;
    joined = &jobs_[id];
    joined->id = id;
    joined->owner = process.facts.owner;
    joined->name = process.facts.job;
    joined->since_ns = now_ns;
  }
  joined->processes.push_back(&process);
  process.job = joined;
  joined->blocked_until_ns.reset();  // its processes are others now
  update_job(*joined);
  if (before != nullptr) {
    inherit(now_ns, *before, *joined);
  }
  bring(now_ns, process);
  check_job(now_ns, *joined);
}

void Engine::leave_job(u64 now_ns, Process& process) {
  Job& job = job_of(process);
  ++changes_;
  std::erase(job.processes, &process);
  if (job.processes.empty()) {
    index_.remove(job);
    jobs_.erase(job.id);
    return;
  }
  update_job(job);
  check_job(now_ns, job);
}

void Engine::remove_process(u64 now_ns, ProcessId id) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  note(now_ns, TraceKind::process_left, job_of(*process), process->facts.key.pid);
  if (process->phase != Phase::running) {
    effects_.runs_again(id);
  }
  set_waits(*process, 0);
  leave_job(now_ns, *process);
  processes_.erase(id);
}

void Engine::set_facts(u64 now_ns, ProcessId id, const ProcessFacts& facts) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  const bool other_owner = process->facts.owner != facts.owner;
  const bool other_job = process->facts.job != facts.job || other_owner;
  if (other_job) {
    const Job before = job_of(*process);
    leave_job(now_ns, *process);
    process->facts = facts;
    enter_job(now_ns, *process, other_owner ? nullptr : &before);
  } else {
    process->facts = facts;
    update_job(job_of(*process));
    bring(now_ns, *process);
  }
}

void Engine::update_job(Job& job) {
  ++changes_;
  job.work_class = WorkClass::normal;
  job.priority = 0;
  job.governs_others = false;
  job.latency_target_ns.reset();
  job.nodes.clear();
  bool classified = false, disagree = false;
  for (const Process* process : job.processes) {
    const ProcessFacts& facts = process->facts;
    if (facts.class_source != ClassSource::none) {
      disagree |= classified && facts.work_class != job.work_class;
      job.work_class = facts.work_class;
      classified = true;
    }
    job.priority = std::max(job.priority, facts.priority);
    job.governs_others |= facts.governs_others;
    for (const auto& target : {facts.latency_target_ns, process->marked_target_ns}) {
      if (target) {
        job.latency_target_ns = std::min(job.latency_target_ns.value_or(*target), *target);
      }
    }
    for (const QueueCounts& counts : process->queues) {
      for (const auto& [gpu_id, count] : counts) {
        job.nodes.push_back(gpu_id);
      }
    }
  }
  if (disagree) {
    job.work_class = WorkClass::normal;
  }
  std::sort(job.nodes.begin(), job.nodes.end());
  job.nodes.erase(std::unique(job.nodes.begin(), job.nodes.end()), job.nodes.end());
  index_.file(job, policy::is_ever_stopped(job.work_class, settings_.parameters));
  index_.attend(job);
}

void Engine::agent_joined(u64 now_ns, ProcessId id, MechanismSet abilities) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  ++changes_;
  process->has_agent = true;
  process->why_rings_not_read.clear();
  process->abilities = abilities;
  process->prepared = false;  // whoever was attached has let go of it
  process->failures.clear();
  process->overdue_starts = 0;
  if (const auto activity = effects_.activity(id)) {
    process->overdue_starts = activity->overdue_starts;
  }
  job_of(*process).blocked_until_ns.reset();
  job_of(*process).error.clear();
  woken(id);
  bring(now_ns, *process);
}

void Engine::agent_left(u64 now_ns, ProcessId id) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  process->has_agent = false;
  process->abilities = {};
  process->busy.reset();
  set_waits(*process, 0);
  process->queues[static_cast<u32>(QueueSource::agent)].clear();
  update_job(job_of(*process));
  if (process->phase != Phase::running && is_inside(process->mechanism)) {
    set_running(*process);
    note(now_ns, TraceKind::lease_ended, job_of(*process), process->facts.key.pid);
  }
  bring(now_ns, *process);
  check_job(now_ns, job_of(*process));
}

void Engine::set_queues(u64 now_ns, ProcessId id, QueueSource source, const QueueCounts& counts,
                        bool appeared) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  process->queues[static_cast<u32>(source)] = counts;
  Job& job = job_of(*process);
  update_job(job);
  watch_slots();
  if (appeared && job.down && process->phase == Phase::stopped && is_inside(process->mechanism)) {
    // The Controller stops new queues of a lease by itself; an agent is told once more.
    order(now_ns, *process, Verb::stop, Phase::stopping);
  }
  bring(now_ns, *process);
  check_job(now_ns, job);
}

void Engine::woken(ProcessId id) { woken_.push_back(id); }

void Engine::online_begin(u64 now_ns, ProcessId id, std::optional<u64> latency_target_ns) {
  Process* process = get(id);
  if (process == nullptr) {
    return;
  }
  if (process->online_marks++ == 0) {
    process->marked_since_ns = now_ns;
    notice_ns_ = std::max(notice_ns_.value_or(0), now_ns);
  }
  process->marked_target_ns = latency_target_ns;
  update_job(job_of(*process));
}

void Engine::online_end(u64 now_ns, ProcessId id) {
  Process* process = get(id);
  if (process == nullptr || process->online_marks == 0) {
    return;
  }
  if (--process->online_marks == 0) {
    process->unmarked_since_ns = now_ns;
    process->marked_target_ns.reset();
    update_job(job_of(*process));
  }
}

void Engine::hold(u64 now_ns, ProcessId id, u64 holder, u64 until_ns) {
  if (Process* process = get(id); process != nullptr && !closed_) {
    Job& job = job_of(*process);
    const auto held = std::find_if(job.holds.begin(), job.holds.end(),
                                   [&](const Hold& hold) { return hold.holder == holder; });
    if (held != job.holds.end()) {
      held->until_ns = std::max(held->until_ns, until_ns);
    } else {
      job.holds.push_back({holder, until_ns});
    }
    index_.attend(job);
    if (!job.down) {
      put_down(now_ns, job);
    }
  }
}

void Engine::release(u64, u64 holder, std::optional<ProcessId> id) {
  for (auto& [job_id, job] : jobs_) {
    const bool meant = !id || std::any_of(job.processes.begin(), job.processes.end(),
                                          [&](const Process* each) { return each->id == *id; });
    if (meant) {
      std::erase_if(job.holds, [&](const Hold& hold) { return hold.holder == holder; });
    }
  }
}

void Engine::set_node(u32 gpu_id, const NodeFacts& facts) { nodes_[gpu_id].facts = facts; }

void Engine::configure(u64 now_ns, Settings settings) {
  settings_ = std::move(settings);
  for (auto& [id, job] : jobs_) {
    job.blocked_until_ns.reset();
    update_job(job);  // the parameters say which classes may be stopped
  }
  for (auto& [id, process] : processes_) {
    process.failures.clear();
    process.prepared = false;
    bring(now_ns, process);
  }
}

void Engine::close(u64 now_ns) {
  closed_ = true;
  for (auto& [id, job] : jobs_) {
    job.holds.clear();
    if (job.down) {
      let_up(now_ns, job);
    }
  }
}

bool Engine::all_running() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const auto& entry) { return entry.second.phase == Phase::running; });
}

}  // namespace gp::sched
