// The thread that ptraces one target and makes every driver call on it: the driver wants the
// calling thread itself to be the ptrace parent of the target's main thread (DBG_TRAP up to Linux
// 6.12.95 and in AMD's DKMS driver, kfd_chardev.c:2980; CRIU_OP always, :3307).
//
// PTRACE_SEIZE does not stop the target. From then on the main thread stops at every signal it
// gets, until this thread passes the signal on: it does nothing slow but driver calls, and those
// only on behalf of this one target.
//
// Detaching is the end of the thread: the kernel then lets go of what it traced (exit_ptrace).
// PTRACE_DETACH would need a stop, and a stop makes system calls such as epoll_wait() of the target
// fail with EINTR.
#pragma once

#include <pthread.h>
#include <semaphore.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "base/unique_fd.h"
#include "discover/snapshot.h"
#include "mechanism/wait_watcher.h"

namespace gp::mechanism {

// What is done to the traced process. All of it is called on the tracer's thread.
class Tracee {
 public:
  virtual ~Tracee() = default;
  virtual Status open() = 0;  // once it is traced
  // Everything is undone. Also when the target has gone, and after an open() that failed.
  virtual int close() = 0;
  // Readable when handle_events() has something to do; asked for before each wait. -1: none.
  virtual int event_fd() const = 0;
  // -errno; -ESRCH: there is nothing left to do to this process.
  virtual int handle_events() = 0;
};

class Tracer {
 public:
  // Seizes the target and opens the tracee. `tracee` outlives the tracer.
  static Result<std::unique_ptr<Tracer>> start(const ProcessKey& target, Tracee& tracee);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();  // everything runs, nothing is traced any more

  using Work = std::function<int()>;
  // Runs `work` on the tracer's thread and returns what it returns; -ESRCH if the target has gone.
  // For one caller at a time.
  int run(const Work& work);

  pid_t pid() const { return target_.pid; }
  // Readable, for ever, once the target has ended, runs another program or was taken from us.
  int gone_fd() const { return gone_event_.get(); }

 private:
  Tracer(const ProcessKey& target, Tracee& tracee);
  static void* thread_main(void* self);
  void wait_for_answer();
  void thread_body();
  Status seize_and_open();
  void serve();
  void serve_request();
  // Passes on what the target stopped for. False: it has gone.
  bool serve_stop();
  void serve_events();
  void finish();
  void wait_until_detached() const;

  const ProcessKey target_;
  Tracee& tracee_;
  WaitWatcher watcher_;
  UniqueFd request_event_, gone_event_;
  pthread_t thread_{};
  bool joinable_ = false;

  std::mutex mutex_;  // of request_ and finished_
  const Work* request_ = nullptr;
  bool finished_ = false;
  // Posted when start_status_ is there, and then when result_ is that of the request.
  sem_t answered_;
  int result_ = 0;
  bool ending_ = false;  // the thread's: leave the loop

  Status start_status_ = ok();
  std::atomic<pid_t> thread_id_{0};
};

}  // namespace gp::mechanism
