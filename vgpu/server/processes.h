// The client processes, each from its first connection until its address space goes: by exit, by
// kill, or by exec. The driver is told of the end exactly once, before the same pid can start anew.
//
// A pidfd tells of death; it cannot be fooled by zombies or by a pid that is used again. Exec is
// seen on the control connection (wire.h, kind_attach), which the kernel closes on exec before the
// new program runs.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "base/unique_fd.h"

namespace vgpu::server {

class Process {
 public:
  Process(pid_t pid, gp::UniqueFd pidfd) : pid(pid), pidfd_(std::move(pidfd)) {}
  const pid_t pid;
  bool ended() const { return state_ != State::alive; }

 private:
  friend class Processes;
  enum class State { alive, ending, gone };
  gp::UniqueFd pidfd_;
  std::atomic<State> state_ = State::alive;
  int control_ = -1;  // the control connection's socket, owned by its session; -1: none
  std::mutex held_;   // taken before Processes::mutex_
};

class Processes {
 public:
  // `on_end` is called, with no lock held, when a process that attached has gone.
  static gp::Result<std::unique_ptr<Processes>> create(std::function<void(pid_t)> on_end);
  ~Processes();

  // The process behind a new connection; waits while an earlier one with its pid is torn down.
  // ESRCH: it has gone already.
  gp::Result<std::shared_ptr<Process>> enter(pid_t pid, gp::UniqueFd pidfd);

  // `socket` becomes the control connection of the process. False if it has one or has ended.
  bool attach(Process& process, int socket);
  // Keeps the driver from being told of the process's end, so that what is made for the process
  // meanwhile is undone by it. Empty if it has no control connection or has ended.
  std::unique_lock<std::mutex> hold(Process& process) const;

  // The address space has gone. Does nothing the second time.
  void end(const std::shared_ptr<Process>& process);

 private:
  explicit Processes(std::function<void(pid_t)> on_end) : on_end_(std::move(on_end)) {}
  void watch();
  void end_locked(const std::shared_ptr<Process>& process, std::unique_lock<std::mutex>& lock);

  const std::function<void(pid_t)> on_end_;
  mutable std::mutex mutex_;
  std::condition_variable gone_;
  std::map<pid_t, std::shared_ptr<Process>> by_pid_;
  gp::UniqueFd epoll_;
  gp::UniqueFd stop_;
  std::thread watcher_;
};

}  // namespace vgpu::server
