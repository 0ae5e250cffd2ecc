#include "bench/daemon_view.h"

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "client/client.h"

namespace gp::bench {
namespace {

using nlohmann::json;

// Unknown is null in the daemon's status.
template <class T>
T or_default(const json& value) {
  return value.is_null() ? T{} : value.get<T>();
}

std::optional<double> if_known(const json& value) {
  return value.is_null() ? std::nullopt : std::optional(value.get<double>());
}

Spread spread_of(const json& latency) {
  return {latency.at("count").get<u64>(), if_known(latency.at("p50")), if_known(latency.at("p99")),
          if_known(latency.at("max"))};
}

JobView job_of(const json& job) {
  JobView view;
  view.name = or_default<std::string>(job.at("job"));
  view.state = job.at("state").get<std::string>();
  view.mechanism = or_default<std::string>(job.at("mechanism"));
  view.level = or_default<int>(job.at("level"));
  view.preemptions = job.at("preemptions").get<u64>();
  view.failures = job.at("failures").get<u64>();
  view.last_stop_us = if_known(job.at("last_stop_us"));
  view.last_start_us = if_known(job.at("last_start_us"));
  view.stopped_us = or_default<double>(job.at("stopped_us_total"));
  view.pids = job.at("pids").get<std::vector<pid_t>>();
  for (const json& process : job.at("processes")) {
    if (process.at("agent").get<bool>()) {
      view.with_agent.push_back(process.at("pid").get<pid_t>());
    }
  }
  return view;
}

DaemonView view_of(const json& status) {
  DaemonView view;
  view.daemon = status.at("daemon_pid").get<pid_t>();
  for (const json& job : status.at("jobs")) {
    view.jobs.push_back(job_of(job));
  }
  const json& latency = status.at("latency");
  view.notify_to_decision = spread_of(latency.at("notify_to_decision_us"));
  view.notify_to_ioctl = spread_of(latency.at("notify_to_ioctl_us"));
  view.decision_to_ioctl = spread_of(latency.at("decision_to_ioctl_us"));
  view.ioctl = spread_of(latency.at("ioctl_us"));
  view.busy_to_stopped = spread_of(latency.at("busy_to_stopped_us"));
  return view;
}

}  // namespace

const JobView* DaemonView::job(const std::string& name) const {
  const auto found = std::ranges::find(jobs, name, &JobView::name);
  return found == jobs.end() ? nullptr : &*found;
}

const JobView* DaemonView::job_of(pid_t pid) const {
  const auto found = std::ranges::find_if(
      jobs, [&](const JobView& job) { return std::ranges::count(job.pids, pid); });
  return found == jobs.end() ? nullptr : &*found;
}

Result<DaemonView> look_at(const demo::Scheduler& scheduler) {
  auto client = TRY(wire::Client::connect(scheduler.socket()));
  const std::string text = TRY(client.text(wire::Kind::status));
  // The library reports missing and wrong fields by exceptions: they end here.
  try {
    return view_of(json::parse(text));
  } catch (const json::exception& exception) {
    return Error{EPROTO, exception.what(), "gpreempt and gpreemptd may be of different versions"};
  }
}

}  // namespace gp::bench
