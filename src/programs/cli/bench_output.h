// What `gpreempt bench` says at its end: tables for people, JSON for programs.
#pragma once

#include <string>

#include "base/result.h"
#include "report/results.h"

namespace gp::cli {

std::string bench_text(const report::Results& results);

// schema_version, virtual_gpu, criteria[] {scenario, what, unit, limit, at_least, value, noise,
// note, others, passed, verdict}, schemes[], batching, reservation, lingers[],
// tiers[]. Unknown is null.
Result<std::string> bench_json(const report::Results& results);

}  // namespace gp::cli
