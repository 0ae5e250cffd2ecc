// The agent's life: from OnLoad to OnUnload, to the end of the process, or to a fork.
#pragma once

namespace gp::agent {

// The program has made its first queue: from now on there is something to schedule.
void start_service();

}  // namespace gp::agent
