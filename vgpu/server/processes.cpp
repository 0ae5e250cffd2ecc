#include "server/processes.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <cerrno>

#include "base/log.h"

namespace vgpu::server {
namespace {

using gp::Error;
using gp::Result;
using gp::UniqueFd;

bool has_event(int fd, short events) {
  pollfd entry = {fd, events, 0};
  return ::poll(&entry, 1, 0) == 1;
}

}  // namespace

Result<std::unique_ptr<Processes>> Processes::create(std::function<void(pid_t)> on_end) {
  std::unique_ptr<Processes> self(new Processes(std::move(on_end)));
  self->epoll_.reset(::epoll_create1(EPOLL_CLOEXEC));
  self->stop_.reset(::eventfd(0, EFD_CLOEXEC));
  if (!self->epoll_ || !self->stop_) {
    return Error{errno, "watch client processes", ""};
  }
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = 0;  // no process has pid 0
  if (::epoll_ctl(self->epoll_.get(), EPOLL_CTL_ADD, self->stop_.get(), &event) != 0) {
    return Error{errno, "watch client processes", ""};
  }
  self->watcher_ = std::thread(&Processes::watch, self.get());
  return self;
}

Processes::~Processes() {
  if (watcher_.joinable()) {
    ::eventfd_write(stop_.get(), 1);
    watcher_.join();
  }
}

void Processes::watch() {
  for (;;) {
    epoll_event event{};
    if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) {
      continue;  // a signal
    }
    const pid_t pid = event.data.fd;
    if (pid == 0) {
      return;
    }
    std::unique_lock lock(mutex_);
    const auto found = by_pid_.find(pid);
    // The entry may be a later process of the same pid: its own pidfd decides.
    if (found != by_pid_.end() && has_event(found->second->pidfd_.get(), POLLIN)) {
      end_locked(std::shared_ptr(found->second), lock);
    }
  }
}

Result<std::shared_ptr<Process>> Processes::enter(pid_t pid, UniqueFd pidfd) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) {
      break;
    }
    const std::shared_ptr<Process> known = found->second;
    if (known->state_ == Process::State::ending) {
      gone_.wait(lock, [&] { return known->state_ == Process::State::gone; });
    } else if (has_event(known->pidfd_.get(), POLLIN) ||
               (known->control_ >= 0 && has_event(known->control_, POLLRDHUP))) {
      end_locked(known, lock);  // exited or exec'd; nobody else has noticed yet
    } else {
      return known;
    }
  }
  if (!pidfd || has_event(pidfd.get(), POLLIN)) {
    return Error{ESRCH, "the client has gone", ""};
  }
  auto process = std::make_shared<Process>(pid, std::move(pidfd));
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = pid;
  if (::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, process->pidfd_.get(), &event) != 0) {
    return Error{errno, "watch a client process", ""};
  }
  by_pid_[pid] = process;
  return process;
}

bool Processes::attach(Process& process, int socket) {
  std::lock_guard lock(mutex_);
  if (process.state_ != Process::State::alive || process.control_ >= 0) {
    return false;
  }
  process.control_ = socket;
  return true;
}

std::unique_lock<std::mutex> Processes::hold(Process& process) const {
  std::unique_lock held(process.held_);
  std::lock_guard lock(mutex_);
  if (process.state_ != Process::State::alive || process.control_ < 0) {
    held.unlock();
  }
  return held;
}

void Processes::end(const std::shared_ptr<Process>& process) {
  std::unique_lock lock(mutex_);
  end_locked(process, lock);
}

void Processes::end_locked(const std::shared_ptr<Process>& process,
                           std::unique_lock<std::mutex>& lock) {
  if (process->state_ != Process::State::alive) {
    return;
  }
  process->state_ = Process::State::ending;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, process->pidfd_.get(), nullptr);
  const bool attached = process->control_ >= 0;
  process->control_ = -1;
  lock.unlock();
  { const std::lock_guard last_holder(process->held_); }
  if (attached) {
    gp::log_debug("process {} has gone", process->pid);
    on_end_(process->pid);
  }
  lock.lock();
  process->state_ = Process::State::gone;
  by_pid_.erase(process->pid);
  gone_.notify_all();
}

}  // namespace vgpu::server
