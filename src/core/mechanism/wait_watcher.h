// Tells a tracer that its target has something for waitpid().
//
// A tracer must react to its target's signals at once, and to requests and driver events too, but
// nothing that can be polled tells of ptrace stops: SIGCHLD belongs to the program we are a library
// in. So a second thread sits in waitid() and only looks (WNOWAIT): any thread of a process may
// wait for what another thread traces (do_wait, kernel/exit.c). It reports, and looks again when
// the tracer has taken the stop.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include <atomic>

#include "base/unique_fd.h"

namespace gp::mechanism {

class WaitWatcher {
 public:
  WaitWatcher() = default;
  WaitWatcher(const WaitWatcher&) = delete;
  WaitWatcher& operator=(const WaitWatcher&) = delete;
  ~WaitWatcher() { stop(); }

  // 0 or -errno. The target must be traced by a thread of this process.
  int start(pid_t pid);
  void stop();

  // Readable when there is a report.
  int fd() const { return event_.get(); }
  // Takes the report. True: the target is stopped, and next() must follow once it is not; false: it
  // has ended or is not traced any more, and nothing will follow.
  bool take_report();
  void next() { sem_post(&taken_); }

 private:
  static void* thread_main(void* self);
  void watch();

  pid_t pid_ = 0;
  UniqueFd event_;
  sem_t taken_;
  pthread_t thread_{};
  bool running_ = false;
  std::atomic<bool> gone_{false};
};

}  // namespace gp::mechanism
