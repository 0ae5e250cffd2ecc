// From running to stopped and back, for one process: which mechanism is used, what an answer or its
// absence means, and when a job has arrived.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "sched/engine.h"

namespace gp::sched {
namespace {

// Another debugger will let go of the process some day, an agent or the driver answer, memory and
// descriptors be free again, a keeper that has died be replaced. What a process may not, it will
// not.
bool may_pass(int error) {
  constexpr int kPassing[] = {EBUSY,  ETIMEDOUT, EINTR, EAGAIN,    ENOMEM,
                              ENFILE, EMFILE,    EIO,   ECONNRESET};
  return std::find(std::begin(kPassing), std::end(kPassing), error) != std::end(kPassing);
}

bool may_pass(const Failures& failures) {
  return std::ranges::any_of(kMechanisms, [&](const MechanismInfo& info) {
    return may_pass(failures[info.mechanism].error);
  });
}

// Of a process with parts. Only the agent knows which queue is in which, and the gate is for all.
bool stops_parts(Mechanism mechanism) {
  return is_inside(mechanism) && info_of(mechanism).scope == Scope::queue;
}

}  // namespace

bool Engine::is_available(const Process& process, Mechanism mechanism) const {
  if (!settings_.mechanisms.has(mechanism) || process.failures[mechanism].error != 0) {
    return false;
  }
  if (process.facts.has_parts && !stops_parts(mechanism)) {
    return false;
  }
  return !is_inside(mechanism) || (process.has_agent && process.abilities.has(mechanism));
}

std::optional<Mechanism> Engine::best_mechanism(const Process& process) const {
  for (const MechanismInfo& entry : kMechanisms) {
    if (is_available(process, entry.mechanism)) {
      return entry.mechanism;
    }
  }
  return std::nullopt;
}

std::optional<Mechanism> Engine::expected_mechanism(ProcessId id, MechanismSet abilities) const {
  const Process* known = find(id);
  if (known == nullptr || !may_be_stopped(*known->job)) {
    return std::nullopt;
  }
  Process process = *known;
  if (!process.has_agent) {
    process.has_agent = true;
    process.abilities = abilities;
    process.failures.clear();
  }
  return best_mechanism(process);
}

void Engine::bring_all(u64 now_ns, Job& job) {
  // By index: a failure in the middle may turn the job around, but never changes the list.
  for (std::size_t i = 0; i < job.processes.size(); ++i) {
    bring(now_ns, *job.processes[i]);
  }
  check_job(now_ns, job);
}

void Engine::bring(u64 now_ns, Process& process) {
  Job& job = job_of(process);
  // What was stopped as a whole before it had parts is started, to be stopped as a part.
  const bool too_much = process.facts.has_parts && !stops_parts(process.mechanism);
  if (process.phase == Phase::stopped && (!job.down || too_much)) {
    order(now_ns, process, Verb::start, Phase::starting);
    return;
  }
  if (process.phase != Phase::running || !process.has_queues()) {
    return;
  }
  if (!job.down) {
    order_prepare(now_ns, process);
    return;
  }
  if (const auto mechanism = best_mechanism(process)) {
    process.mechanism = *mechanism;
    process.was_stopped = true;
    process.decided_ns = now_ns;
    job.arrived = false;
    order(now_ns, process, Verb::stop, Phase::stopping);
  } else {
    job_failed(now_ns, job, fmt::format("no mechanism can stop process {}", process.facts.key.pid),
               EOPNOTSUPP);
  }
}

void Engine::order(u64 now_ns, Process& process, Verb verb, Phase phase) {
  index_.attend(job_of(process));
  process.phase = phase;
  process.sequence = next_sequence_++;
  process.answer_due_ns = now_ns + settings_.answer_ns;
  if (verb == Verb::start) {
    process.decided_ns = now_ns;
  } else {
    process.deadline_ns = now_ns + settings_.lease_ns;
  }
  effects_.carry_out({verb, process.id, process.mechanism, process.sequence, process.deadline_ns});
}

bool Engine::may_be_stopped(const Job& job) const {
  return job.work_class != WorkClass::online &&
         policy::is_ever_stopped(job.work_class, settings_.parameters);
}

// An offline process without an agent that can stop it is attached to ahead of time: the slow part
// is over, or its failure known, before the first stop.
void Engine::order_prepare(u64, Process& process) {
  const Job& job = job_of(process);
  const auto mechanism = best_mechanism(process);
  if (closed_ || process.prepared || process.prepare_sequence != 0 || !mechanism ||
      is_inside(*mechanism) || !may_be_stopped(job)) {
    return;
  }
  process.mechanism = *mechanism;
  process.prepare_sequence = next_sequence_++;
  effects_.carry_out({Verb::prepare, process.id, *mechanism, process.prepare_sequence, 0});
}

void Engine::answered(u64 now_ns, ProcessId id, const Answer& answer) {
  Process* process = get(id);
  if (process == nullptr || answer.sequence == 0) {
    return;
  }
  if (answer.sequence == process->prepare_sequence) {
    process->prepare_sequence = 0;
    process->prepared = answer.error == 0;
    if (answer.error != 0) {
      mechanism_failed(now_ns, *process, process->mechanism, answer.error, answer.reason);
      bring(now_ns, *process);
    }
    return;
  }
  if (answer.sequence != process->sequence) {
    return;  // of an order that was given up
  }
  process->sequence = 0;
  process->answer_due_ns.reset();
  if (process->phase == Phase::stopping) {
    stop_answered(now_ns, *process, answer);
  } else if (process->phase == Phase::starting) {
    start_answered(now_ns, *process, answer);
  }
}

void Engine::stop_answered(u64 now_ns, Process& process, const Answer& answer) {
  if (answer.error != 0) {
    mechanism_failed(now_ns, process, process.mechanism, answer.error, answer.reason);
    set_running(process);
    bring(now_ns, process);
    check_job(now_ns, job_of(process));  // the stop may not be wanted any more
    return;
  }
  process.phase = Phase::stopped;
  measure_stop(now_ns, process, answer);
  note(now_ns, TraceKind::process_stopped, job_of(process), process.facts.key.pid,
       static_cast<i64>(now_ns - process.decided_ns));
  bring(now_ns, process);
  check_job(now_ns, job_of(process));
}

// An agent may name any GPU there is not: there are never many.
NodeRecord* Engine::node_of(u32 gpu_id) {
  constexpr std::size_t kMostUnknown = 64;
  const auto found = nodes_.find(gpu_id);
  if (found != nodes_.end()) {
    return &found->second;
  }
  return nodes_.size() < kMostUnknown ? &nodes_[gpu_id] : nullptr;
}

void Engine::measure_stop(u64 now_ns, Process& process, const Answer& answer) {
  for (const u32 gpu_id : job_of(process).nodes) {
    if (NodeRecord* node = node_of(gpu_id)) {
      node->stop_ns.add(now_ns - process.decided_ns);
    }
  }
  if (answer.driver_enter_ns >= process.decided_ns && answer.driver_enter_ns <= now_ns &&
      answer.driver_leave_ns >= answer.driver_enter_ns && answer.driver_leave_ns <= now_ns) {
    latencies_.decision_to_ioctl.add(answer.driver_enter_ns - process.decided_ns);
    const Job& job = job_of(process);
    const bool first = process.decided_ns == job.since_ns;  // not one that came later
    if (first && job.notice_ns && *job.notice_ns <= answer.driver_enter_ns) {
      latencies_.notify_to_ioctl.add(answer.driver_enter_ns - *job.notice_ns);
    }
    latencies_.ioctl.add(answer.driver_leave_ns - answer.driver_enter_ns);
  }
}

void Engine::start_answered(u64 now_ns, Process& process, const Answer& answer) {
  if (answer.error != 0 && answer.error != ESRCH && now_ns < process.deadline_ns) {
    // Not extended any more, it runs at its deadline at the latest; tried again before.
    const std::string error =
        fmt::format("cannot start process {}: {}", process.facts.key.pid, answer.reason);
    if (std::exchange(job_of(process).error, error) != error) {
      log_warning("{}", error);  // once, however often it is tried
    }
    process.phase = Phase::stopped;
    process.answer_due_ns = std::min(now_ns + settings_.answer_ns, process.deadline_ns);
    return;
  }
  set_running(process);
  for (const u32 gpu_id : job_of(process).nodes) {
    if (NodeRecord* node = node_of(gpu_id)) {
      node->start_ns.add(now_ns - process.decided_ns);
    }
  }
  note(now_ns, TraceKind::process_started, job_of(process), process.facts.key.pid,
       static_cast<i64>(now_ns - process.decided_ns));
  bring(now_ns, process);
  check_job(now_ns, job_of(process));
}

void Engine::set_running(Process& process) {
  effects_.runs_again(process.id);
  process.phase = Phase::running;
  process.sequence = 0;
  process.answer_due_ns.reset();
  process.deadline_ns = 0;
}

void Engine::lease_ended(u64 now_ns, ProcessId id) {
  Process* process = get(id);
  if (process == nullptr || process->phase != Phase::stopped) {
    return;  // an answer is on its way that says the same
  }
  note(now_ns, TraceKind::lease_ended, job_of(*process), process->facts.key.pid);
  set_running(*process);
  bring(now_ns, *process);
  check_job(now_ns, job_of(*process));
}

void Engine::mechanism_failed(u64 now_ns, Process& process, Mechanism mechanism, int error,
                              const std::string& reason) {
  if (may_log(now_ns)) {
    log_warning("{} does not work on process {}: {}", info_of(mechanism).name,
                process.facts.key.pid, reason);
  }
  process.failures[mechanism] = {error, reason};
  Job& job = job_of(process);
  note(now_ns, TraceKind::mechanism_failed, job, process.facts.key.pid, error);
  // Nobody would ever ask for a stop again, and so find out that it works now.
  if (!best_mechanism(process) && may_pass(process.failures)) {
    job.blocked_until_ns = now_ns + settings_.retry_ns;
    job.error = reason;
    index_.attend(job);
  }
}

// A job is stopped as a whole or not at all: what of it is stopped already runs again.
void Engine::job_failed(u64 now_ns, Job& job, const std::string& reason, int error) {
  if (may_log(now_ns)) {
    log_warning("job {} cannot be stopped: {}",
                job.name.empty() ? std::to_string(job.id) : job.name, reason);
  }
  note(now_ns, TraceKind::job_failed, job, 0, error);
  job.error = reason;
  ++job.failures;
  job.holds.clear();
  job.blocked_until_ns = now_ns + settings_.retry_ns;
  index_.attend(job);
  if (job.down) {
    let_up(now_ns, job);
  }
}

void Engine::no_answer(u64 now_ns, Process& process) {
  const Mechanism mechanism = process.mechanism;
  if (process.phase == Phase::stopping && is_inside(mechanism)) {
    // Should the agent come to it later, the start behind the stop undoes it.
    effects_.carry_out({Verb::start, process.id, mechanism, next_sequence_++, 0});
    set_running(process);
    mechanism_failed(now_ns, process, mechanism, ETIMEDOUT, "its agent does not answer");
    bring(now_ns, process);
    check_job(now_ns, job_of(process));
  } else if (process.phase == Phase::starting && is_inside(mechanism)) {
    order(now_ns, process, Verb::start, Phase::starting);
  } else if (process.phase == Phase::stopped && now_ns >= process.deadline_ns) {
    lease_ended(now_ns, process.id);  // a start that failed: its deadline has ended the stop
  } else {
    process.answer_due_ns.reset();  // the Controller's calls always return
    bring(now_ns, process);
  }
}

void Engine::check_job(u64 now_ns, Job& job) {
  const Phase wanted = job.down ? Phase::stopped : Phase::running;
  for (const Process* process : job.processes) {
    const bool counts = process->has_queues() || process->phase != Phase::running;
    if (counts && process->phase != wanted) {
      job.arrived = false;
      return;
    }
  }
  if (job.arrived) {
    return;
  }
  job.arrived = true;
  if (std::exchange(job.arrival_due, false)) {
    const u64 took = now_ns - job.since_ns;
    (job.down ? job.last_stop_ns : job.last_start_ns) = took;
    (job.down ? job.stop_ns : job.start_ns).add(took);
  }
  if (job.down) {
    job.error.clear();
    if (job.notice_ns && *job.notice_ns <= now_ns) {
      latencies_.busy_to_stopped.add(now_ns - *job.notice_ns);
    }
    job.notice_ns.reset();
  } else if (std::exchange(job.log_due, false)) {
    log_preemption(now_ns, job);
  }
}

// Anybody can have things fail: the log has room for others.
bool Engine::may_log(u64 now_ns) {
  constexpr double kLinesPerSecond = 2, kLinesAtOnce = 20;
  if (log_lines_.next_ns(now_ns, kLinesPerSecond, kLinesAtOnce) > now_ns) {
    return false;
  }
  log_lines_.take(now_ns, kLinesPerSecond, kLinesAtOnce);
  return true;
}

// One line for each, when it is over: nobody waits then. What exceeds the rate is counted.
void Engine::log_preemption(u64 now_ns, const Job& job) {
  if (!may_log(now_ns)) {
    ++unlogged_;
    return;
  }
  const auto stopped = std::find_if(job.processes.begin(), job.processes.end(),
                                    [](const Process* process) { return process->was_stopped; });
  if (stopped == job.processes.end()) {
    return;
  }
  const std::string others =
      job.processes.size() > 1 ? fmt::format(" and {} more", job.processes.size() - 1) : "";
  const std::string before = unlogged_ == 0 ? "" : fmt::format("; {} before it", unlogged_);
  unlogged_ = 0;
  log_info("preempted {}process {}{} by {} for {:.1f} ms (stop {:.2f} ms, start {:.2f} ms{})",
           job.name.empty() ? "" : fmt::format("job {}, ", job.name), (*stopped)->facts.key.pid,
           others, info_of((*stopped)->mechanism).name, job.previous_stop_ns / 1e6,
           job.last_stop_ns.value_or(0) / 1e6, job.last_start_ns.value_or(0) / 1e6, before);
}

}  // namespace gp::sched
