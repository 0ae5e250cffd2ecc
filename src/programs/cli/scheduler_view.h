// The daemon's status as people read it: a pure function of its JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace gp::cli {

std::string scheduler_text(const nlohmann::json& status);

// A line for each process that is online although nobody can tell when it has work.
std::string unseen_lines(const nlohmann::json& status);

}  // namespace gp::cli
