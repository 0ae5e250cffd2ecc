// The agent's own threads: quiet guests in somebody else's process.
#pragma once

#include <pthread.h>

namespace gp::agent {

// All signals are blocked in the thread: the program's handlers run in the program's threads. The
// stack is small. 0 or -errno.
int start_thread(pthread_t* thread, void* (*main)(void*), void* argument);

}  // namespace gp::agent
