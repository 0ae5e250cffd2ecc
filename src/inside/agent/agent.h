// The agent's life: from OnLoad to OnUnload, to the end of the process, or to a fork.
#pragma once

#include "model/part.h"

namespace gp::agent {

// This part of the program has its first queue: from now on there is something to schedule.
void start_service(Part part);
// Some came, went or changed their part: the daemon has to hear of it.
void queues_changed();

}  // namespace gp::agent
