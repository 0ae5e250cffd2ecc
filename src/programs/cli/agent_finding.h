// What the daemon says of the agent in a process, for `gpreempt doctor --pid`.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "cli/diagnosis.h"

namespace gp::cli {

// Of the daemon's status. Empty if it does not know the process: then there is nothing to tell.
std::optional<Finding> agent_finding(const nlohmann::json& status, pid_t pid);

// Asks the daemon; empty also if none answers, for it is not needed to diagnose.
std::optional<Finding> ask_for_agent(pid_t pid);

}  // namespace gp::cli
