// What the daemon says of the agent in a process, for `gpreempt doctor --pid`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cli/diagnosis.h"

namespace gp::cli {

// Of the daemon's status, null if none answers, and of whether the agent is loaded in the process.
// Empty if there is nothing to tell: no agent, and a process that no daemon knows.
std::optional<Finding> agent_finding(const nlohmann::json& status, pid_t pid, bool is_loaded);

// Whether the process has our agent's library mapped; false also if that cannot be read.
bool has_agent_loaded(pid_t pid);

// The daemon's status; null if none answers soon.
nlohmann::json ask_daemon();

// Looks, and asks the daemon.
std::optional<Finding> ask_for_agent(pid_t pid);

}  // namespace gp::cli
