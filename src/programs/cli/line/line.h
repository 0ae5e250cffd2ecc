// The commands with their options. Parsing a command line chooses one of them.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace gp::cli {

// What to do: the exit code. Empty until a command was found on the line.
using Chosen = std::function<int()>;

void add_queue_commands(CLI::App& app, Chosen& chosen);      // queues, suspend, resume, doctor
void add_measuring_commands(CLI::App& app, Chosen& chosen);  // demo, bench, report
// run, cdi, status, class, config, trace. `program` is what the line has behind "--": for `run`
// alone.
void add_scheduler_commands(CLI::App& app, Chosen& chosen, const std::vector<std::string>& program);

}  // namespace gp::cli
