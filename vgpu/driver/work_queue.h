// Runs jobs in order on a thread of its own: what the kernel does in work queues because the
// interrupt path may not take the locks, and what it does later or when somebody is gone.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/unique_fd.h"
#include "memory/page_table.h"

namespace vgpu::driver {

class WorkQueue {
 public:
  using Job = std::function<void()>;
  // A job that is to run later. Default: none.
  struct Timer {
    u64 due_ns = 0, serial = 0;
    auto operator<=>(const Timer&) const = default;
  };

  WorkQueue();
  ~WorkQueue();
  // Runs what is queued and ends the thread; jobs added later, and those not yet due, are dropped.
  void stop();
  void add(Job job);
  Timer add_after(u64 delay_ns, Job job);
  // A job that has begun, or is about to, is not waited for. It must look again whether it is
  // still wanted.
  void cancel(const Timer& timer);
  // Calls `on_ready` on the thread, once, when the file becomes readable or loses its other side: a
  // pidfd when its process ends, a pipe when its last reader closes.
  void watch(UniqueFd file, Job on_ready);

 private:
  void run();
  int milliseconds_to_wait();
  void take_due(std::deque<Job>& ready);

  struct Watch {
    UniqueFd file;
    Job on_ready;
  };
  std::mutex mutex_;
  std::deque<Job> jobs_;
  std::map<Timer, Job> later_;
  u64 next_serial_ = 1;
  std::list<Watch> watches_;
  UniqueFd wake_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace vgpu::driver
