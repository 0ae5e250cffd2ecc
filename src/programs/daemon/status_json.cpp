#include "daemon/status_json.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "libc/real_time.h"

namespace gp::daemon {
namespace {

// Bytes that are no UTF-8 take three times as much, and one answer has the commands of everybody.
constexpr std::size_t kLongestCommand = 512;

using nlohmann::json;

// Unknown is null, never 0.
template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}
json microseconds(const std::optional<u64>& ns) {
  return ns ? json(static_cast<double>(*ns) / 1000) : json();
}
json microseconds(u64 ns) { return static_cast<double>(ns) / 1000; }

json latency(const sched::LatencyReport& report) {
  return {{"count", report.count},
          {"p50", microseconds(report.p50_ns)},
          {"p99", microseconds(report.p99_ns)},
          {"max", microseconds(report.max_ns)}};
}

// How long stops for the job outlast its work, and why so long; null if it has had no work.
json linger(const sched::JobReport& report) {
  if (!report.linger) {
    return {};
  }
  const policy::LingerPlan& plan = *report.linger;
  return {{"linger_us", microseconds(plan.ns)},
          {"by", policy::name(plan.source)},
          {"fixed_us", microseconds(plan.fixed_ns)},
          {"price_us", plan.price_ns == 0 ? json() : microseconds(plan.price_ns)},
          {"gaps", report.gaps},
          {"gap_us_p50", microseconds(report.gap_p50_ns)},
          {"gap_us_p90", microseconds(report.gap_p90_ns)}};
}

json process(const sched::ProcessReport& report) {
  return {{"pid", report.pid},
          {"uid", report.uid},
          {"command", report.command.substr(0, kLongestCommand)},
          {"tag", report.tag},
          {"part", or_null(report.part)},
          {"agent", report.has_agent},
          {"agent_refused", report.agent_refusal.empty() ? json() : json(report.agent_refusal)},
          {"busy", or_null(report.busy)},
          {"work_unseen", report.work_unseen},
          {"rings_are_read", report.rings_are_read},
          {"rings_not_read",
           report.why_rings_not_read.empty() ? json() : json(report.why_rings_not_read)},
          {"state", report.state},
          {"mechanism", or_null(report.mechanism)},
          {"level", or_null(report.level)},
          {"not_better", report.not_better}};
}

json job(const sched::JobReport& report) {
  json pids = json::array(), processes = json::array();
  for (const sched::ProcessReport& each : report.processes) {
    pids.push_back(each.pid);
    processes.push_back(process(each));
  }
  return {{"job", report.name},
          {"id", report.id},
          {"pids", pids},
          {"uid", report.owner},
          {"may_preempt_others", report.governs_others},
          {"class", gp::name(report.work_class)},
          {"priority", report.priority},
          {"state", report.state},
          {"busy", or_null(report.busy)},
          {"gpu_ids", report.gpu_ids},
          {"mechanism", or_null(report.mechanism)},
          {"level", or_null(report.level)},
          {"error", report.error.empty() ? json() : json(report.error)},
          {"held", report.held},
          {"made_room", report.made_room},
          {"preemptions", report.preemptions},
          {"failures", report.failures},
          {"stopped_us_total", microseconds(report.stopped_total_ns)},
          {"last_stop_us", microseconds(report.last_stop_ns)},
          {"last_start_us", microseconds(report.last_start_ns)},
          {"linger", linger(report)},
          {"processes", processes}};
}

json node(const sched::NodeReport& report, const DriverView& driver) {
  const auto found = driver.reserved.find(report.gpu_id);
  const ReservedSlots reserved = found == driver.reserved.end() ? ReservedSlots{} : found->second;
  return {{"gpu_id", report.gpu_id},
          {"node_id", report.node_id},
          {"name", report.name},
          {"hqds", or_null(report.hqds)},
          {"compute_queues", report.compute_queues},
          {"slots_low", report.slots_low},
          {"reserved_slots", or_null(reserved.slots)},
          {"reservation_error", reserved.error.empty() ? json() : json(reserved.error)},
          {"stop_us", microseconds(report.stop_ns)},
          {"start_us", microseconds(report.start_ns)},
          {"running", report.running}};
}

}  // namespace

std::string status_json(const sched::Engine& engine, const DriverView& driver, u64 now_ns,
                        u64 connections) {
  const sched::Report report = engine.report(now_ns);
  json jobs = json::array(), nodes = json::array();
  for (const sched::JobReport& each : report.jobs) {
    jobs.push_back(job(each));
  }
  for (const sched::NodeReport& each : report.nodes) {
    nodes.push_back(node(each, driver));
  }
  const json status = {{"schema_version", kStatusSchema},
                       {"daemon_pid", ::getpid()},
                       {"connections", connections},
                       {"policy", report.policy},
                       {"real_time", is_real_time_thread()},  // this one leads the loop
                       {"kernel",
                        {{"available", driver.no_kernel.empty()},
                         {"reason", driver.no_kernel.empty() ? json() : json(driver.no_kernel)}}},
                       {"jobs", jobs},
                       {"nodes", nodes},
                       {"latency",
                        {{"notify_to_decision_us", latency(report.notify_to_decision)},
                         {"decision_to_ioctl_us", latency(report.decision_to_ioctl)},
                         {"notify_to_ioctl_us", latency(report.notify_to_ioctl)},
                         {"ioctl_us", latency(report.ioctl)},
                         {"busy_to_stopped_us", latency(report.busy_to_stopped)}}}};
  // A command line may hold bytes that are no UTF-8: they are shown as such, not fatal.
  return status.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string trace_json(std::span<const sched::TraceEvent> events) {
  // By hand: the loop waits for this, and a tree of JSON values for each event takes ten times as
  // long.
  fmt::memory_buffer text;
  for (const sched::TraceEvent& event : events) {
    fmt::format_to(std::back_inserter(text),
                   R"({{"number":{},"time_us":{}.{:03},"event":"{}","class":"{}","job":{},)"
                   R"("pid":{},"value":{}}})"
                   "\n",
                   event.number, event.time_ns / 1000, event.time_ns % 1000,
                   sched::name(event.kind), gp::name(event.work_class), event.job,
                   event.pid == 0 ? "null" : std::to_string(event.pid), event.value);
  }
  return fmt::to_string(text);
}

}  // namespace gp::daemon
