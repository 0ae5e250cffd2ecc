// gpreempt trace: the last events of the daemon, for ui.perfetto.dev or as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/exit_code.h"
#include "cli/commands.h"
#include "cli/system.h"
#include "libc/clock.h"
#include "report/report.h"
#include "report/trace.h"

namespace gp::cli {
namespace {

using nlohmann::ordered_json;

struct Answer {
  std::vector<report::TraceLine> events;
  std::map<u64, std::string> job_names;  // of those that are still there
};

Result<Answer> ask(const std::string& socket) {
  wire::Client daemon = TRY(connect_to_daemon(socket));
  Answer answer;
  answer.events = TRY(report::parse_trace(TRY(daemon.text(wire::Kind::trace))));
  const auto status = nlohmann::json::parse(TRY(daemon.text(wire::Kind::status)), nullptr, false);
  try {
    for (const auto& job : status.at("jobs")) {
      const auto name = job.at("job").get<std::string>();
      const auto& processes = job.at("processes");
      answer.job_names[job.at("id").get<u64>()] =
          !name.empty() || processes.empty() ? name : processes[0].at("command").get<std::string>();
    }
  } catch (const nlohmann::json::exception&) {
    return Error{EPROTO, "the daemon's answer cannot be understood",
                 "gpreempt and gpreemptd may be of different versions"};
  }
  std::erase_if(answer.job_names, [](const auto& job) { return job.second.empty(); });
  return answer;
}

std::string to_json(const Answer& answer) {
  ordered_json events = ordered_json::array();
  for (const report::TraceLine& line : answer.events) {
    const auto name = answer.job_names.find(line.job);
    events.push_back(
        {{"number", line.number},
         {"time_us", static_cast<double>(line.time_ns) / 1000},
         {"event", line.event},
         {"job", line.job},
         {"job_name", name == answer.job_names.end() ? ordered_json() : ordered_json(name->second)},
         {"class", line.work_class},
         {"pid", line.pid ? ordered_json(*line.pid) : ordered_json()},
         {"value", line.value}});
  }
  return ordered_json{{"schema_version", 1}, {"events", std::move(events)}}.dump(
             1, ' ', false, ordered_json::error_handler_t::replace) +
         "\n";
}

std::string summary(const Answer& answer, const report::TraceSlices& trace) {
  if (answer.events.empty()) {
    return "no events yet";
  }
  const auto stops = std::count_if(trace.slices.begin(), trace.slices.end(), [](const auto& slice) {
    return slice.kind == report::SliceKind::stop;
  });
  const u64 length_ns = answer.events.back().time_ns - answer.events.front().time_ns;
  return fmt::format("{} events of {} jobs in {:.1f} s, {} {}", answer.events.size(),
                     trace.class_of_job.size(), static_cast<double>(length_ns) / 1e9, stops,
                     stops == 1 ? "preemption" : "preemptions");
}

Status write(const std::string& content, const std::string& path) {
  if (path != "-") {
    return write_file(path, content);
  }
  if (std::fwrite(content.data(), 1, content.size(), stdout) != content.size() ||
      std::fflush(stdout) != 0) {
    return Error{errno, "cannot write to standard output", ""};
  }
  return ok();
}

Status trace_to_file(const TraceOptions& options) {
  const Answer answer = TRY(ask(options.socket));
  if (options.json) {
    return write(to_json(answer), options.output.empty() ? "-" : options.output);
  }
  const report::TraceSlices trace = report::slices_of(answer.events, monotonic_ns());
  const report::ClockReading clocks{monotonic_ns(), clock_ns(CLOCK_BOOTTIME)};
  const std::string path = options.output.empty() ? "gpreempt.pftrace" : options.output;
  TRY(write(report::perfetto_trace(trace, answer.job_names, clocks), path));
  if (path != "-") {
    std::printf("%s: %s\nOpen it in https://ui.perfetto.dev\n", path.c_str(),
                summary(answer, trace).c_str());
  }
  return ok();
}

}  // namespace

int trace(const TraceOptions& options) {
  const Status done = trace_to_file(options);
  return done ? exit_ok : report_error(done.error());
}

}  // namespace gp::cli
