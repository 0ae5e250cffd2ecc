// A child process that sleeps, for what depends on real processes: ptrace, capabilities, death.
#pragma once

#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "driver/driver_support.h"

namespace vgpu::driver {

class Child {
 public:
  Child() : pid_(fork()) {
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      for (;;) {
        pause();
      }
    }
  }
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  pid_t pid() const { return pid_; }
  void kill() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      pid_ = 0;
    }
  }
  // By the calling thread. False where ptrace is not allowed.
  bool seize() { return ptrace(PTRACE_SEIZE, pid_, 0, 0) == 0; }
  void detach() {
    // A tracee must be stopped to be let go.
    ptrace(PTRACE_INTERRUPT, pid_, 0, 0);
    waitpid(pid_, nullptr, 0);
    ptrace(PTRACE_DETACH, pid_, 0, 0);
  }

 private:
  pid_t pid_;
};

}  // namespace vgpu::driver
