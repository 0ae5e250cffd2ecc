// The agent's functions in the runtime's table.
#pragma once

#include "agent/api_tables.h"
#include "agent/runtime.h"

namespace gp::agent {

// Saves the tables' functions in `runtime` and puts ours in their place. False, with the reason:
// the tables are not ones we know; nothing was changed.
bool install_hooks(const RootTable* root, Refusal& refusal);

// From now on every hook does nothing but call the original: this process is a fork's child, or the
// runtime is going away.
void disable_hooks();
void enable_hooks();

}  // namespace gp::agent
