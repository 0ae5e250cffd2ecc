// The engine's report as JSON: what `gpreempt status --json` prints.
#pragma once

#include <string>

#include "sched/engine.h"

namespace gp::daemon {

constexpr int kStatusSchema = 1;

std::string status_json(const sched::Engine& engine, u64 now_ns, u64 connections);
// One object per line, oldest first.
std::string trace_json(const sched::Trace& trace);

}  // namespace gp::daemon
