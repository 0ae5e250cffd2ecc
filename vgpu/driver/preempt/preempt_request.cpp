#include "driver/preempt/preempt_request.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "base/log.h"
#include "driver/preempt/leases.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

using Clock = std::chrono::steady_clock;

struct Target {
  ProcessPtr process;
  int error = 0;  // instead of it
};

// The owner, its tracer, whoever has CAP_SYS_NICE. The thread counts, as for DBG_TRAP.
bool may_preempt(const Caller& caller, const Process& target) {
  if (target.pid == caller.pid || has_capability(caller.tid, kCapSysNice)) {
    return true;
  }
  const auto task = look_up_task(target.pid);
  return task && task->tracer == caller.tid;
}

Target target_by_pid(const Call& call, u32 pid) {
  if (pid == 0) {
    return {call.process_ptr};
  }
  const auto task = look_up_task(translate_pid(static_cast<pid_t>(pid), call.caller.pid));
  const ProcessPtr process =
      task && task->has_memory ? call.module.find_process(task->leader) : nullptr;
  if (!process) {
    return {nullptr, -ESRCH};
  }
  return may_preempt(call.caller, *process) ? Target{process} : Target{nullptr, -EPERM};
}

// Whoever has a copy of the target's /dev/kfd was given it, or could have traced the target: that
// is what pidfd_getfd(2) asks for.
Target target_by_fd(const Call& call, u32 fd) {
  const auto file = call.caller.files->find(fd);
  const ProcessPtr process = file ? call.module.find_process(*file) : nullptr;
  return process ? Target{process} : Target{nullptr, -EBADF};
}

Target find_target(const Call& call, const abi::PreemptEntry& entry) {
  if (entry.flags & ~abi::kPreemptTargetFd || entry.pad) {
    return {nullptr, -EINVAL};
  }
  return entry.flags & abi::kPreemptTargetFd ? target_by_fd(call, entry.target)
                                             : target_by_pid(call, entry.target);
}

// One list of a request, and how far it has come.
class PreemptList {
 public:
  PreemptList(const Call& call, std::span<abi::PreemptEntry> entries) {
    items_.reserve(entries.size());
    for (abi::PreemptEntry& entry : entries) {
      const Target target = find_target(call, entry);
      entry.status = target.process ? -ENOENT : target.error;
      items_.push_back({entry, target.process});
    }
  }

  bool concerns(const Node& node) const {
    return std::any_of(items_.begin(), items_.end(),
                       [&](const Item& item) { return item.concerns(node); });
  }

  // Changes flags and counters of what is on this GPU; `change` is Dqm::hold or Dqm::release.
  template <class Change>
  void flip(Node& node, Change change) {
    for (Item& item : items_) {
      item.done_here = false;
      if (!item.concerns(node)) {
        continue;
      }
      const int result = change(*item.target->devices[node.index], item.entry.queue_id);
      item.done_here = result >= 0;
      item.found_single = result != -ENOENT && item.is_single();
      item.set_status(result);
    }
  }

  // The GPU could not be asked at all.
  void fail_on(const Node& node, int error) {
    for (Item& item : items_) {
      if (item.concerns(node)) {
        item.set_status(error);
      }
    }
  }
  // It was asked, but did not follow.
  void fail_what_was_done_here() {
    for (Item& item : items_) {
      if (item.done_here) {
        item.set_status(-EIO);
      }
    }
  }

 private:
  struct Item {
    abi::PreemptEntry& entry;
    ProcessPtr target;          // null: the entry is in error
    bool found_single = false;  // other GPUs need not be asked
    bool done_here = false;     // on the GPU at hand

    bool is_single() const { return entry.queue_id != abi::kPreemptAllQueues; }
    bool concerns(const Node& node) const {
      return target && !found_single && (!entry.gpu_id || entry.gpu_id == node.gpu_id);
    }
    // A single queue is on one GPU, whose word counts. All queues of a process can be on several:
    // an error on one of them counts most, then a change.
    void set_status(int status) {
      if (status == -ENOENT) {
        return;
      }
      if (is_single() || entry.status == -ENOENT || (entry.status >= 0 && status < entry.status)) {
        entry.status = status;
      }
    }
  };
  std::vector<Item> items_;
};

struct Running {
  PreemptList preempt, resume;
  bool demote;
  bool has_deadline;
  Clock::time_point deadline;

  Running(const Call& call, const PreemptRequest& request)
      : preempt(call, request.preempt),
        resume(call, request.resume),
        demote(request.demote),
        has_deadline(request.timeout_ms != 0),
        deadline(Clock::now() + std::chrono::milliseconds(request.timeout_ms)) {}
};

// Looks again and again, as the driver does (dqm_lock_until). A mutex that can be waited for with a
// limit would be pthread_mutex_clocklock, which ThreadSanitizer of GCC 12 does not know.
bool lock_until(std::unique_lock<std::mutex>& lock, Clock::time_point deadline) {
  constexpr auto kPause = std::chrono::microseconds(50);
  while (!lock.try_lock()) {
    if (Clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(kPause);
  }
  return true;
}

void run_on_node(Node& node, const Lease& lease, Running& running) {
  if (!running.preempt.concerns(node) && !running.resume.concerns(node)) {
    return;
  }
  Dqm& dqm = *node.dqm;
  std::unique_lock lock(dqm.mutex(), std::defer_lock);
  if (!running.has_deadline) {
    lock.lock();
  } else if (!lock_until(lock, running.deadline)) {
    running.preempt.fail_on(node, -ETIME);
    running.resume.fail_on(node, -ETIME);
    return;
  }
  bool changed = false;
  running.preempt.flip(node, [&](ProcessDevice& device, u32 queue_id) {
    return dqm.hold(device, queue_id, lease, running.demote, &changed);
  });
  running.resume.flip(node, [&](ProcessDevice& device, u32 queue_id) {
    return dqm.release(device, queue_id, lease, &changed);
  });
  const int error = changed ? dqm.apply_holds() : 0;
  lock.unlock();
  if (error) {
    log_error("gpu {:x}: preempting queues: error {}", node.gpu_id, -error);
    running.preempt.fail_what_was_done_here();
    running.resume.fail_what_was_done_here();
  }
}

// `find_lease` comes last: until then nothing is locked, and targets are looked up in /proc.
template <class FindLease>
int run(Call& call, const PreemptRequest& request, FindLease find_lease) {
  if (request.grace_period > abi::kPreemptMaxGracePeriod) {
    return -EINVAL;
  }
  Running running(call, request);
  const LockedLease locked = find_lease();
  if (locked.error) {
    return locked.error;
  }
  if (locked.lease->expired && !request.preempt.empty()) {
    return -ESTALE;
  }
  for (const auto& node : call.module.nodes) {
    run_on_node(*node, *locked.lease, running);
  }
  return 0;
}

}  // namespace

int run_under_lease(Call& call, u32 lease_fd, const PreemptRequest& request) {
  return run(call, request, [&] {
    return call.module.leases->find(call.process, call.caller.files->find(lease_fd));
  });
}

int run_under_implicit_lease(Call& call, const PreemptRequest& request) {
  return run(call, request, [&] { return call.module.leases->find_implicit(call.process); });
}

}  // namespace vgpu::driver
