#include "sched/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "sched/engine.h"

namespace gp::sched {
namespace {

const char* phase_name(Phase phase) {
  switch (phase) {
    case Phase::running: return "running";
    case Phase::stopping: return "stopping";
    case Phase::stopped: return "stopped";
    case Phase::starting: return "starting";
  }
  return "unknown";
}

std::string state_name(const Job& job) {
  if (job.down) {
    return job.arrived ? "stopped" : "stopping";
  }
  return job.arrived ? "running" : "starting";
}

ProcessReport report_process(const Process& process, std::optional<Mechanism> mechanism) {
  ProcessReport report;
  report.pid = process.facts.key.pid;
  report.uid = process.facts.owner.uid;
  report.command = process.facts.command;
  report.tag = process.facts.tag;
  if (const auto own_class = class_of(process.facts.part)) {
    report.part = gp::name(*own_class);
  }
  report.has_agent = process.has_agent;
  report.agent_refusal = process.facts.agent_refusal;
  report.busy = process.busy;
  report.rings_are_read = !process.has_agent && process.busy;
  report.why_rings_not_read = process.why_rings_not_read;
  report.state = phase_name(process.phase);
  if (mechanism) {
    report.mechanism = info_of(*mechanism).name;
    report.level = info_of(*mechanism).level;
  }
  for (const MechanismInfo& entry : kMechanisms) {
    const Failures::Failure& record = process.failures[entry.mechanism];
    if (record.error != 0) {
      report.not_better.push_back(fmt::format("{}: {}", entry.name, record.reason));
    }
  }
  return report;
}

LatencyReport report_latency(const Histogram& histogram) {
  return {histogram.count(), histogram.quantile(0.5), histogram.quantile(0.99), histogram.max()};
}

JobReport report_job(const Job& job, u64 now_ns) {
  JobReport report;
  report.id = job.id;
  report.name = job.name;
  if (job.name.empty() && !job.processes.empty()) {
    const ProcessFacts& facts = job.processes.front()->facts;
    const auto own_class = class_of(facts.part);
    report.name = fmt::format("pid-{}{}", facts.key.pid,
                              own_class ? fmt::format(" ({})", gp::name(*own_class)) : "");
  }
  report.owner = job.owner.uid;
  report.governs_others = job.governs_others;
  report.work_class = job.work_class;
  report.priority = job.priority;
  report.state = state_name(job);
  report.gpu_ids = job.nodes;
  report.error = job.error;
  report.made_room = job.made_room();
  report.held = job.holds.size() > (report.made_room ? 1 : 0);
  report.preemptions = job.preemptions;
  report.failures = job.failures;
  report.stopped_total_ns = job.stopped_total_ns + (job.down ? now_ns - job.since_ns : 0);
  report.last_stop_ns = job.last_stop_ns;
  report.last_start_ns = job.last_start_ns;
  if (job.was_idle_since_ns != 0) {
    report.linger = job.linger.planned();
  }
  report.gaps = job.linger.gaps().total();
  report.gap_p50_ns = job.linger.gaps().quantile_ns(0.5);
  report.gap_p90_ns = job.linger.gaps().quantile_ns(0.9);
  return report;
}

}  // namespace

Report Engine::report(u64 now_ns) const {
  Report report;
  report.policy = settings_.policy->name;
  for (const auto& [id, job] : jobs_) {
    JobReport entry = report_job(job, now_ns);
    for (const Process* process : job.processes) {
      const bool in_effect = process->phase != Phase::running;
      const auto mechanism =
          in_effect ? std::optional<Mechanism>(process->mechanism) : best_mechanism(*process);
      entry.processes.push_back(report_process(*process, mechanism));
      entry.processes.back().work_unseen = is_work_unseen(process->id);
      const ProcessReport& added = entry.processes.back();
      if (added.level && (!entry.level || *added.level < *entry.level)) {
        entry.level = added.level;
        entry.mechanism = added.mechanism;
      }
      const bool marked = process->online_marks != 0;
      if (process->busy || marked) {
        entry.busy = entry.busy.value_or(false) || process->busy.value_or(false) || marked;
      }
    }
    report.jobs.push_back(std::move(entry));
  }
  for (const auto& [gpu_id, node] : nodes_) {
    NodeReport entry{gpu_id,
                     node.facts.node_id,
                     node.facts.name,
                     node.facts.hqds,
                     0,
                     false,
                     node.stop_ns.value(),
                     node.start_ns.value(),
                     {}};
    for (const auto& [id, job] : jobs_) {
      const bool here = std::find(job.nodes.begin(), job.nodes.end(), gpu_id) != job.nodes.end();
      if (here && !job.down) {
        entry.running.push_back(id);
      }
    }
    entry.compute_queues = queues_on(gpu_id);
    entry.slots_low = slots_low(gpu_id);
    report.nodes.push_back(std::move(entry));
  }
  report.notify_to_decision = report_latency(latencies_.notify_to_decision);
  report.decision_to_ioctl = report_latency(latencies_.decision_to_ioctl);
  report.notify_to_ioctl = report_latency(latencies_.notify_to_ioctl);
  report.ioctl = report_latency(latencies_.ioctl);
  report.busy_to_stopped = report_latency(latencies_.busy_to_stopped);
  return report;
}

}  // namespace gp::sched
