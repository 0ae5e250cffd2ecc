// A process that makes random calls as fast as it can, on its own queues and on those of others.
#pragma once

#include <sys/types.h>

#include <vector>

// Starts one; it runs until it is killed or has made all its calls (exit status 0).
pid_t start_hammer(unsigned seed, unsigned calls, const std::vector<pid_t>& targets);

// Its main(): --hammer SEED CALLS PID...
int hammer_main(int argc, char** argv);
