#include "mechanism/tracer.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "base/log.h"
#include "libc/eventfd.h"
#include "mechanism/debugger_errors.h"
#include "mechanism/queue_set.h"
#include "mechanism/target_process.h"

namespace gp::mechanism {
namespace {

bool is_stop_signal(int signal) {
  return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN || signal == SIGTTOU;
}

}  // namespace

Tracer::Tracer(const ProcessKey& target, Tracee& tracee) : target_(target), tracee_(tracee) {
  sem_init(&answered_, 0, 0);
  request_event_.reset(make_event());
  gone_event_.reset(make_event());
}

Result<std::unique_ptr<Tracer>> Tracer::start(const ProcessKey& target, Tracee& tracee) {
  std::unique_ptr<Tracer> tracer(new Tracer(target, tracee));
  if (!tracer->request_event_ || !tracer->gone_event_) {
    return Error{errno, "cannot make an eventfd", ""};
  }
  // Signals of the program we are in are not this thread's business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int error = pthread_create(&tracer->thread_, nullptr, thread_main, tracer.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) {
    return Error{error, "cannot start a tracer thread", ""};
  }
  tracer->joinable_ = true;
  tracer->wait_for_answer();
  if (!tracer->start_status_) {
    return std::move(tracer->start_status_.error());
  }
  return tracer;
}

Tracer::~Tracer() {
  if (joinable_) {
    run([this] {
      ending_ = true;
      return 0;
    });
    pthread_join(thread_, nullptr);
    wait_until_detached();
  }
  sem_destroy(&answered_);
}

void Tracer::wait_for_answer() {
  while (sem_wait(&answered_) != 0) {  // a signal of the program we are in
  }
}

// pthread_join() returns a moment before the kernel has detached what the thread traced. Whoever
// attaches next must not find the target traced still.
void Tracer::wait_until_detached() const {
  for (;;) {
    const auto state = process_state(target_.pid);
    if (!state || state->tracer == 0 || state->tracer != thread_id_.load()) {
      return;
    }
    sched_yield();
  }
}

int Tracer::run(const Work& work) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) {
      return -ESRCH;
    }
    request_ = &work;
  }
  signal_event(request_event_.get());
  wait_for_answer();
  return result_;
}

void* Tracer::thread_main(void* self) {
  static_cast<Tracer*>(self)->thread_body();
  return nullptr;
}

void Tracer::thread_body() {
  thread_id_ = ::gettid();
  Status status = seize_and_open();
  const bool opened = static_cast<bool>(status);
  if (!opened) {
    finished_ = true;
  }
  start_status_ = std::move(status);
  sem_post(&answered_);
  if (opened) {
    serve();
    finish();
  }
  watcher_.stop();
}

Status Tracer::seize_and_open() {
  const pid_t pid = target_.pid;
  if (::ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_TRACEEXEC) != 0) {
    return seize_error(pid, errno);
  }
  // While it is traced its pid cannot become another process's: now it is certain whom we have.
  const ProcessState state = TRY(process_state(pid));
  if (target_.start_time != 0 && state.start_time != target_.start_time) {
    return Error{ESRCH, fmt::format("the process that had pid {} has ended", pid),
                 "another process has that pid now"};
  }
  if (const int error = watcher_.start(pid)) {
    return Error{-error, "cannot start a thread to watch the target", ""};
  }
  Status opened = tracee_.open();
  if (!opened) {
    tracee_.close();
  }
  return opened;
}

// The thread's loop: whatever comes first of a request, a stop of the target, a driver event.
void Tracer::serve() {
  while (!ending_) {
    pollfd fds[] = {{request_event_.get(), POLLIN, 0},
                    {watcher_.fd(), POLLIN, 0},
                    {tracee_.event_fd(), POLLIN, 0}};
    if (::poll(fds, std::size(fds), -1) < 0) {
      continue;
    }
    if (fds[1].revents != 0 && !serve_stop()) {
      return;
    }
    if (fds[0].revents != 0) {
      serve_request();
    }
    if (fds[2].revents != 0) {
      serve_events();
    }
  }
}

void Tracer::serve_events() {
  const int error = ending_ ? 0 : tracee_.handle_events();
  if (error < 0) {
    log_warning("{}", session_error(target_.pid, "cannot follow the queues of", error).message());
    ending_ = error == -ESRCH;  // the target's end, or its exec, would follow anyway
  }
}

void Tracer::serve_request() {
  clear_event(request_event_.get());
  const Work* work = nullptr;
  {
    const std::lock_guard lock(mutex_);
    work = std::exchange(request_, nullptr);
  }
  if (work != nullptr) {
    result_ = (*work)();
    sem_post(&answered_);
  }
}

bool Tracer::serve_stop() {
  if (!watcher_.take_report()) {
    return false;
  }
  // Without WEXITED: if it has been killed since, its end is its parent's to see.
  siginfo_t info = {};
  const int result =
      ::waitid(P_PID, static_cast<id_t>(target_.pid), &info, WSTOPPED | WNOHANG | __WALL);
  bool still_there = true;
  if (result == 0 && info.si_pid == target_.pid) {
    const int signal = info.si_status & 0x7f;
    const int event = info.si_status >> 8;
    if (event == PTRACE_EVENT_STOP && is_stop_signal(signal)) {
      // The whole process is stopped (Ctrl-Z, SIGSTOP) and must stay so.
      ::ptrace(PTRACE_LISTEN, target_.pid, nullptr, nullptr);
    } else if (event == PTRACE_EVENT_EXEC) {
      // Another program, other memory: the driver has ended the session (kfd_process.c:1225). The
      // end of this thread lets it go on.
      still_there = false;
    } else {
      const long passed_on = event == 0 ? signal : 0;
      ::ptrace(PTRACE_CONT, target_.pid, nullptr, passed_on);
    }
  }
  watcher_.next();
  return still_there;
}

// No request is served from now on.
void Tracer::finish() {
  if (const int error = tracee_.close(); error < 0 && error != -ESRCH) {
    log_warning("{}", session_error(target_.pid, "cannot let go of", error).message());
  }
  const std::lock_guard lock(mutex_);
  finished_ = true;
  signal_event(gone_event_.get());
  if (request_ != nullptr) {
    request_ = nullptr;
    result_ = -ESRCH;
    sem_post(&answered_);
  }
}

}  // namespace gp::mechanism
