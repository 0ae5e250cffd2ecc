// The thread that ptraces one target and makes every debugger call on it: up to Linux 6.12.95 and
// in AMD's DKMS driver the calling thread itself must be the ptrace parent of the target's main
// thread (kfd_chardev.c:2980). Newer kernels accept that too.
//
// PTRACE_SEIZE does not stop the target. From then on the main thread stops at every signal it
// gets, until this thread passes the signal on: it does nothing slow but debugger calls, and those
// only on behalf of this one target.
//
// Detaching is the end of the thread: the kernel then lets go of what it traced (exit_ptrace).
// PTRACE_DETACH would need a stop, and a stop makes system calls such as epoll_wait() of the target
// fail with EINTR.
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "base/result.h"
#include "base/unique_fd.h"
#include "discover/snapshot.h"
#include "mechanism/inside/debug_session.h"
#include "mechanism/wait_watcher.h"

namespace gp::mechanism {

class Tracer {
 public:
  // Seizes the target and opens a debug session on it. The error is in words.
  static Result<std::unique_ptr<Tracer>> start(const discover::ProcessKey& target,
                                               const kfd::Channel& channel);
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;
  ~Tracer();  // everything runs, nothing is traced any more

  using Work = std::function<int(inside::DebugSession&)>;
  // Runs `work` on the tracer's thread and returns what it returns; -ESRCH if the target has gone.
  // For one caller at a time.
  int run(const Work& work);

  pid_t pid() const { return target_.pid; }
  // Readable, for ever, once the target has ended, runs another program or was taken from us.
  int gone_fd() const { return gone_event_.get(); }
  // The last suspend; for the caller of run().
  inside::CallWindow suspend_call() const { return session_->suspend_call; }

 private:
  Tracer(const discover::ProcessKey& target, const kfd::Channel& channel);
  static void* thread_main(void* self);
  void thread_body();
  Status seize_and_open();
  void serve();
  void serve_request();
  // Passes on what the target stopped for. False: it has gone.
  bool serve_stop();
  void finish(int unserved_result);
  void wait_until_detached() const;

  const discover::ProcessKey target_;
  const kfd::Channel channel_;
  std::unique_ptr<inside::DebugSession> session_;  // the thread's
  WaitWatcher watcher_;
  UniqueFd request_event_, gone_event_;
  pthread_t thread_{};
  bool joinable_ = false;

  std::mutex mutex_;  // of request_ and finished_
  const Work* request_ = nullptr;
  bool finished_ = false;
  std::atomic<int> answered_{0};  // 1: result_ is that of the request
  int result_ = 0;
  bool ending_ = false;  // the thread's: leave the loop

  std::atomic<int> started_{0};  // 1: start_status_ is there
  Status start_status_ = ok();
  std::atomic<pid_t> thread_id_{0};
};

}  // namespace gp::mechanism
