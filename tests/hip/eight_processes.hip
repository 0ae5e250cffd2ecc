// TEST: eight processes share eight hardware queue slots and all finish
// RUN: --hqds 8
// PROFILES: mi210
// TIMEOUT: 180
#include "processes.h"

int main() {
  std::vector<pid_t> pids;
  for (u32 i = 0; i < 8; i++)
    pids.push_back(start_process([i] { return steady_work(i, 10, 100); }));
  for (pid_t pid : pids) EXPECT(wait_for(pid) == 0, "a process failed");
  return pass("eight processes on eight slots");
}
