#include "driver/work_queue.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <vector>

#include "device/clock.h"

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

void WorkQueue::add(Job job) {
  const std::lock_guard lock(mutex_);
  if (!stopping_) {
    jobs_.push_back(std::move(job));
    eventfd_write(wake_.get(), 1);
  }
}

WorkQueue::Timer WorkQueue::add_after(u64 delay_ns, Job job) {
  const std::lock_guard lock(mutex_);
  const Timer timer{device::now_ns() + delay_ns, next_serial_++};
  later_.emplace(timer, std::move(job));
  eventfd_write(wake_.get(), 1);
  return timer;
}

void WorkQueue::cancel(const Timer& timer) {
  const std::lock_guard lock(mutex_);
  later_.erase(timer);
}

void WorkQueue::watch(UniqueFd file, Job on_ready) {
  const std::lock_guard lock(mutex_);
  watches_.push_back({std::move(file), std::move(on_ready)});
  eventfd_write(wake_.get(), 1);
}

// Until the next timer, rounded up: a timer never fires early. -1: there is none.
int WorkQueue::milliseconds_to_wait() {
  if (later_.empty()) {
    return -1;
  }
  constexpr u64 kLongest = 60'000, kPerMillisecond = 1'000'000;
  const u64 due = later_.begin()->first.due_ns, now = device::now_ns();
  const u64 wait = due <= now ? 0 : (due - now + kPerMillisecond - 1) / kPerMillisecond;
  return static_cast<int>(std::min(wait, kLongest));
}

void WorkQueue::take_due(std::deque<Job>& ready) {
  const u64 now = device::now_ns();
  while (!later_.empty() && later_.begin()->first.due_ns <= now) {
    ready.push_back(std::move(later_.begin()->second));
    later_.erase(later_.begin());
  }
}

void WorkQueue::run() {
  for (;;) {
    std::vector<pollfd> fds = {{wake_.get(), POLLIN, 0}};
    int timeout;
    {
      const std::lock_guard lock(mutex_);
      timeout = milliseconds_to_wait();
      for (const Watch& watch : watches_) {
        fds.push_back({watch.file.get(), POLLIN, 0});
      }
    }
    poll(fds.data(), fds.size(), timeout);
    eventfd_t ignored;
    if (fds[0].revents) {
      eventfd_read(wake_.get(), &ignored);
    }

    std::deque<Job> ready;
    bool stopping;
    {
      const std::lock_guard lock(mutex_);
      ready.swap(jobs_);
      stopping = stopping_;
      take_due(ready);
      // Only this thread removes watches, and new ones are appended: the order still matches.
      auto watch = watches_.begin();
      for (std::size_t i = 1; i < fds.size(); ++i) {
        const auto current = watch++;
        if (fds[i].revents) {
          ready.push_back(std::move(current->on_ready));
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
