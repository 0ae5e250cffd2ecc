#include <poll.h>
#include <sys/eventfd.h>

#include <vector>

#include "driver/module.h"

namespace vgpu::driver {

WorkQueue::WorkQueue() : wake_(eventfd(0, EFD_CLOEXEC)), thread_([this] { run(); }) {}

WorkQueue::~WorkQueue() { stop(); }

void WorkQueue::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  eventfd_write(wake_.get(), 1);
  if (thread_.joinable()) {
    thread_.join();
  }
}

void WorkQueue::add(std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  if (!stopping_) {
    jobs_.push_back(std::move(job));
    eventfd_write(wake_.get(), 1);
  }
}

void WorkQueue::watch(UniqueFd pidfd, std::function<void()> on_exit) {
  const std::lock_guard lock(mutex_);
  watches_.push_back({std::move(pidfd), std::move(on_exit)});
  eventfd_write(wake_.get(), 1);
}

void WorkQueue::run() {
  for (;;) {
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
    {
      const std::lock_guard lock(mutex_);
      for (const Watch& watch : watches_) {
        fds.push_back({watch.pidfd.get(), POLLIN, 0});
      }
    }
    poll(fds.data(), fds.size(), -1);
    eventfd_t ignored;
    if (fds[0].revents) {
      eventfd_read(wake_.get(), &ignored);
    }

    std::deque<std::function<void()>> ready;
    bool stopping;
    {
      const std::lock_guard lock(mutex_);
      ready.swap(jobs_);
      stopping = stopping_;
      // Only this thread removes watches, and new ones are appended: the order still matches.
      auto watch = watches_.begin();
      for (std::size_t i = 1; i < fds.size(); ++i) {
        const auto current = watch++;
        if (fds[i].revents) {
          ready.push_back(std::move(current->on_exit));
          watches_.erase(current);
        }
      }
    }
    for (const auto& job : ready) {
      job();
    }
    if (stopping) {
      return;
    }
  }
}

}  // namespace vgpu::driver
