// The agent's functions in the runtime's table.
#pragma once

#include "agent/runtime.h"

namespace gp::agent {

// Saves the table's functions in `runtime` and puts ours in their place. False: the table is not
// one we know; nothing was changed.
bool install_hooks(HsaApiTable* table);

// From now on every hook does nothing but call the original: this process is a fork's child, or the
// runtime is going away.
void disable_hooks();
void enable_hooks();

}  // namespace gp::agent
