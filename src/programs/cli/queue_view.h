// How queues and nodes are shown, to people and to programs: pure functions of a Snapshot.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "discover/discover.h"

namespace gp::cli {

constexpr int kSchemaVersion = 1;

// What the user asked to see: queues that match, and the nodes they could be on.
std::string queue_tables(const discover::Snapshot& snapshot, const discover::Filter& filter);
nlohmann::ordered_json queue_json(const discover::Snapshot& snapshot,
                                  const discover::Filter& filter);

nlohmann::ordered_json node_json(const discover::Node& node);
std::string node_table(const discover::Snapshot& snapshot);

// Without the folder of the program: the end of a long path is what tells programs apart.
std::string short_command(const std::string& command);

// One line of `queues --watch`. `process` may be null: it has gone, or may not be looked at.
std::string event_line(const discover::QueueEvent& event, const discover::Process* process);
nlohmann::ordered_json event_json(const discover::QueueEvent& event,
                                  const discover::Process* process);
std::string event_header();

}  // namespace gp::cli
