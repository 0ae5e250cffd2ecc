#include "cli/agent_finding.h"

#include <fmt/format.h>

#include <chrono>

#include "base/files.h"
#include "base/text_table.h"
#include "cli/json_field.h"
#include "client/client.h"

namespace gp::cli {
namespace {

using nlohmann::json;

constexpr auto kPatience = std::chrono::seconds(2);  // a daemon that hangs is not waited for

// It waits for a daemon as long as the process lives.
Finding unreached(bool daemon_answers) {
  return {"agent", Health::limited,
          daemon_answers ? "it is in the process, and has not reached the daemon that answers here"
                         : "it is in the process, and no daemon answers: nothing is stopped",
          daemon_answers ? "GPREEMPT_SOCKET and --socket must name the same daemon for both"
                         : "start gpreemptd where the process looks for it (GPREEMPT_SOCKET)",
          exit_ok};
}

const json* find_process(const json& status, pid_t pid) {
  for (const json& job : field(status, "jobs")) {
    for (const json& process : field(job, "processes")) {
      if (field(process, "pid") == pid) {
        return &process;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::optional<Finding> agent_finding(const json& status, pid_t pid, bool is_loaded) {
  const json* process = find_process(status, pid);
  if (process == nullptr) {
    return is_loaded ? std::optional(unreached(status.is_object())) : std::nullopt;
  }
  const json& refused = field(*process, "agent_refused");
  if (refused.is_string()) {
    return Finding{
        "agent", Health::limited,
        fmt::format("agent refused: {}", printable(refused.get<std::string>())),
        "use an agent that knows this ROCm; until then the process is stopped from outside",
        exit_ok};
  }
  if (field(*process, "agent") == true) {
    return Finding{"agent", Health::good, "it works in the process", "", exit_ok};
  }
  if (is_loaded) {
    return unreached(true);
  }
  return Finding{"agent", Health::limited, "none works in the process",
                 "start it with gpreempt run to have it stopped from inside", exit_ok};
}

bool has_agent_loaded(pid_t pid) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid));
  return maps && maps->find("/libgpreempt_agent.so") != std::string::npos;
}

json ask_daemon() {
  auto daemon = wire::Client::connect();
  if (!daemon || !daemon->set_timeout(kPatience)) {
    return {};
  }
  const Result<std::string> text = daemon->text(wire::Kind::status);
  return text ? json::parse(*text, nullptr, false) : json();
}

std::optional<Finding> ask_for_agent(pid_t pid) {
  return agent_finding(ask_daemon(), pid, has_agent_loaded(pid));
}

}  // namespace gp::cli
