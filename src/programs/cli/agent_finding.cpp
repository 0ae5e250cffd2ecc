#include "cli/agent_finding.h"

#include <fmt/format.h>

#include <chrono>

#include "base/text_table.h"
#include "cli/json_field.h"
#include "client/client.h"

namespace gp::cli {
namespace {

using nlohmann::json;

constexpr auto kPatience = std::chrono::seconds(2);  // a daemon that hangs is not waited for

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

std::optional<Finding> agent_finding(const json& status, pid_t pid) {
  const json* process = find_process(status, pid);
  if (process == nullptr) {
    return std::nullopt;
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
  return Finding{"agent", Health::limited, "none works in the process",
                 "start it with gpreempt run to have it stopped from inside", exit_ok};
}

std::optional<Finding> ask_for_agent(pid_t pid) {
  auto daemon = wire::Client::connect();
  if (!daemon || !daemon->set_timeout(kPatience)) {
    return std::nullopt;
  }
  const Result<std::string> text = daemon->text(wire::Kind::status);
  return text ? agent_finding(json::parse(*text, nullptr, false), pid) : std::nullopt;
}

}  // namespace gp::cli
