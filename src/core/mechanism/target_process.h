// The process whose queues are to be stopped: made sure of, so that nobody else who got its pid is
// touched.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"
#include "discover/snapshot.h"

namespace gp::mechanism {

// From /proc/<pid>/stat and status.
struct ProcessState {
  char state = '?';  // 'Z': a zombie
  pid_t parent = 0;
  pid_t tracer = 0;  // the thread that ptraces its main thread; 0: none
  u64 start_time = 0;
};
// ESRCH if there is no such process.
Result<ProcessState> process_state(pid_t pid);

// "pid 15234 (gdb)"
std::string describe_process(pid_t pid);

// A pidfd of the process that the key names. ESRCH if it has gone, is a zombie, or the pid is now
// another process's.
Result<UniqueFd> open_target(const ProcessKey& key);

// The numbers of the descriptors of /dev/kfd that the process has; the virtual GPU's are memory
// files. EPERM if its files may not be seen.
Result<std::vector<int>> kfd_descriptors(pid_t pid);
// A copy of a descriptor of the process behind `pidfd`; pidfd_getfd(2) wants ptrace access to it.
Result<UniqueFd> copy_descriptor(pid_t pid, int pidfd, int number);

// The device, opened; with the hint that helps if it cannot be.
Result<UniqueFd> open_kfd();

}  // namespace gp::mechanism
