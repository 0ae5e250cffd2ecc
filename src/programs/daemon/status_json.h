// The engine's report as JSON: what `gpreempt status --json` prints.
#pragma once

#include <span>
#include <string>

#include "daemon/driver_view.h"
#include "sched/engine.h"

namespace gp::daemon {

constexpr int kStatusSchema = 1;

std::string status_json(const sched::Engine& engine, const DriverView& driver, u64 now_ns,
                        u64 connections);
// One object per line.
std::string trace_json(std::span<const sched::TraceEvent> events);

}  // namespace gp::daemon
