#include "cli/scheduler_view.h"

#include <fmt/format.h>

#include <vector>

#include "base/text_table.h"
#include "cli/json_field.h"
#include "libc/types.h"

namespace gp::cli {
namespace {

using nlohmann::json;

// Unknown is N/A.
std::string text_of(const json& value) {
  if (value.is_string()) {
    return value.get<std::string>();
  }
  return value.is_null() ? "N/A" : value.dump();
}

std::string milliseconds(const json& microseconds) {
  return microseconds.is_number() ? fmt::format("{:.1f}", microseconds.get<double>() / 1000)
                                  : "N/A";
}

std::string seconds(const json& microseconds) {
  return microseconds.is_number() ? fmt::format("{:.1f}", microseconds.get<double>() / 1e6) : "N/A";
}

std::string pids_of(const json& job) {
  std::string text;
  for (const json& pid : field(job, "pids")) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", text_of(pid));
  }
  return text;
}

// "debugger (3)": the mechanism in effect and its level.
std::string mechanism_of(const json& job) {
  const json& mechanism = field(job, "mechanism");
  return mechanism.is_null()
             ? "none yet"
             : fmt::format("{} ({})", text_of(mechanism), text_of(field(job, "level")));
}

std::string jobs_table(const json& status) {
  std::vector<Row> rows;
  for (const json& job : field(status, "jobs")) {
    rows.push_back({text_of(field(job, "job")), text_of(field(job, "class")),
                    text_of(field(job, "state")), mechanism_of(job),
                    text_of(field(job, "preemptions")), seconds(field(job, "stopped_us_total")),
                    milliseconds(field(job, "last_stop_us")),
                    milliseconds(field(job, "last_start_us")), pids_of(job)});
  }
  if (rows.empty()) {
    return "No jobs.\n";
  }
  return layout({{"JOB"},
                 {"CLASS"},
                 {"STATE"},
                 {"BY (LEVEL)"},
                 {"STOPS", true},
                 {"STOPPED s", true},
                 {"STOP ms", true},
                 {"START ms", true},
                 {"PIDS"}},
                rows);
}

// The nodes name jobs by id.
std::string job_name(const json& status, const json& id) {
  for (const json& job : field(status, "jobs")) {
    if (field(job, "id") == id) {
      return text_of(field(job, "job"));
    }
  }
  return text_of(id);
}

std::string nodes_table(const json& status) {
  std::vector<Row> rows;
  for (const json& node : field(status, "nodes")) {
    std::string running;
    for (const json& job : field(node, "running")) {
      running += fmt::format("{}{}", running.empty() ? "" : ", ", job_name(status, job));
    }
    rows.push_back({text_of(field(node, "gpu_id")), text_of(field(node, "hqds")),
                    text_of(field(node, "compute_queues")), running.empty() ? "-" : running});
  }
  return rows.empty()
             ? ""
             : layout({{"GPU", true}, {"SLOTS", true}, {"QUEUES", true}, {"RUNNING"}}, rows);
}

// What is wrong, or will be soon, with a GPU.
std::string node_remarks(const json& status) {
  std::string text;
  for (const json& node : field(status, "nodes")) {
    const std::string gpu = text_of(field(node, "gpu_id"));
    if (field(node, "slots_low") == true) {
      text += fmt::format(
          "warning: GPU {}: {} compute queues for {} hardware slots; beyond them queues take "
          "turns, "
          "online ones too (make_room in gpreemptd.toml frees those of idle offline jobs)\n",
          gpu, text_of(field(node, "compute_queues")), text_of(field(node, "hqds")));
    }
    if (field(node, "reserved_slots").is_number()) {
      text += fmt::format("GPU {}: {} slots are reserved for online work\n", gpu,
                          text_of(field(node, "reserved_slots")));
    }
    if (field(node, "reservation_error").is_string()) {
      text += fmt::format("warning: {}\n", text_of(field(node, "reservation_error")));
    }
  }
  return text;
}

// How long stops outlast the work of each online job, and why so long.
std::string linger_lines(const json& status) {
  std::string text;
  for (const json& job : field(status, "jobs")) {
    const json& linger = field(job, "linger");
    if (!linger.is_object() || field(job, "class") != "online") {
      continue;
    }
    const std::string by = text_of(field(linger, "by"));
    std::string why = "no stop is measured yet";
    if (by == "gaps") {
      why = fmt::format("learnt from its gaps (p50 {} ms, p90 {} ms)",
                        milliseconds(field(linger, "gap_us_p50")),
                        milliseconds(field(linger, "gap_us_p90")));
    } else if (by == "price") {
      why = "what stopping and starting cost";
    }
    text += fmt::format("after {} went idle, offline work stays stopped for {} ms: {}\n",
                        text_of(field(job, "job")), milliseconds(field(linger, "linger_us")), why);
  }
  return text.empty() ? "" : "\n" + text;
}

// Why a process is not stopped in a better way, and what went wrong.
std::string remarks(const json& status) {
  std::string text = node_remarks(status);
  for (const json& job : field(status, "jobs")) {
    if (field(job, "error").is_string()) {
      text += fmt::format("job {}: {}\n", text_of(field(job, "job")), text_of(field(job, "error")));
    }
    for (const json& process : field(job, "processes")) {
      if (field(process, "agent_refused").is_string()) {
        text += fmt::format("process {}: agent refused: {}\n", text_of(field(process, "pid")),
                            text_of(field(process, "agent_refused")));
      }
      for (const json& why : field(process, "not_better")) {
        text += fmt::format("process {}: {}\n", text_of(field(process, "pid")), text_of(why));
      }
    }
  }
  text += unseen_lines(status);
  return text.empty() ? "" : "\n" + text;
}

std::string latency_line(const json& status) {
  const json& notice = field(field(status, "latency"), "busy_to_stopped_us");
  const json& count = field(notice, "count");
  if (!count.is_number() || count.get<u64>() == 0) {
    return "";
  }
  return fmt::format(
      "\nonline busy to offline stopped: p50 {} ms, p99 {} ms, max {} ms ({} times)\n",
      milliseconds(field(notice, "p50")), milliseconds(field(notice, "p99")),
      milliseconds(field(notice, "max")), text_of(count));
}

}  // namespace

std::string unseen_lines(const json& status) {
  std::string text;
  for (const json& job : field(status, "jobs")) {
    for (const json& process : field(job, "processes")) {
      if (field(process, "work_unseen") == true) {
        const json& why = field(process, "rings_not_read");
        text += fmt::format(
            "process {}: online, but nobody can tell when it has work: start it with gpreempt "
            "run{}\n",
            text_of(field(process, "pid")),
            why.is_string() ? fmt::format(" ({})", text_of(why)) : "");
      }
    }
  }
  return text;
}

std::string scheduler_text(const json& status) {
  std::string text = fmt::format(
      "gpreemptd (pid {}), policy {}{}\n\n", text_of(field(status, "daemon_pid")),
      text_of(field(status, "policy")), field(status, "real_time") == true ? ", real-time" : "");
  text += jobs_table(status);
  if (const std::string nodes = nodes_table(status); !nodes.empty()) {
    text += "\n" + nodes;
  }
  return text + latency_line(status) + linger_lines(status) + remarks(status);
}

}  // namespace gp::cli
