#include "driver/preempt/preempt_request.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "driver/preempt/leases.h"
#include "driver/preempt/on_gpus.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

using Clock = std::chrono::steady_clock;

struct Target {
  ProcessPtr process;
  int error = 0;  // instead of it
};

// Whoever has CAP_SYS_NICE, and the tracer. The thread counts, as for DBG_TRAP.
bool may_preempt_anybody(const Caller& caller, const Task& target) {
  return has_capability(caller.tid, kCapSysNice) || target.tracer == caller.tid;
}

bool may_preempt(const Caller& caller, const Process& target) {
  const auto task = look_up_task(target.pid);
  return target.pid == caller.pid || (task && may_preempt_anybody(caller, *task));
}

// A copy of the target's /dev/kfd says who is meant; the right is that of its user. Of a process
// that has ended somebody keeps the file open, and nothing else is left.
bool may_preempt_by_fd(const Caller& caller, const Process& target) {
  const auto task = look_up_task(target.pid), own = look_up_task(caller.tid);
  if (target.pid == caller.pid || !task) {
    return true;
  }
  const bool same_user = own && own->effective_uid == task->uid &&
                         own->effective_uid == task->effective_uid &&
                         own->effective_uid == task->saved_uid;
  return same_user || may_preempt_anybody(caller, *task);
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

Target target_by_fd(const Call& call, u32 fd) {
  const auto file = call.caller.files->find(fd);
  const ProcessPtr process = file ? call.module.find_process(*file) : nullptr;
  if (!process) {
    return {nullptr, -EBADF};
  }
  return may_preempt_by_fd(call.caller, *process) ? Target{process} : Target{nullptr, -EPERM};
}

Target find_target(const Call& call, const abi::PreemptEntry& entry) {
  if (entry.flags & ~abi::kPreemptTargetFd || entry.pad) {
    return {nullptr, -EINVAL};
  }
  return entry.flags & abi::kPreemptTargetFd ? target_by_fd(call, entry.target)
                                             : target_by_pid(call, entry.target);
}

// Of one GPU, for each entry of a list: -ENOENT where it has nothing of the kind.
using Statuses = std::vector<int>;

// One list of a request.
class PreemptList {
 public:
  // Without `others`, entries that name another process are refused.
  PreemptList(const Call& call, std::span<abi::PreemptEntry> entries, bool others) {
    items_.reserve(entries.size());
    for (abi::PreemptEntry& entry : entries) {
      Target target = find_target(call, entry);
      if (target.process && !others && target.process != call.process_ptr) {
        target = {nullptr, -EPERM};
      }
      items_.push_back({entry, target.process, only_gpu_of(entry, target.process), target.error});
    }
  }

  bool concerns(const Node& node) const {
    return std::any_of(items_.begin(), items_.end(),
                       [&](const Item& item) { return item.concerns(node); });
  }

  // Changes flags and counters of what is on this GPU; `change` is Dqm::hold or Dqm::release.
  template <class Change>
  Statuses flip(Node& node, Change change) const {
    Statuses statuses(items_.size(), -ENOENT);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (item.concerns(node)) {
        statuses[i] = change(*item.target->devices[node.index], item.entry.queue_id);
      }
    }
    return statuses;
  }
  // The GPU could not be asked at all.
  Statuses fail_on(const Node& node, int error) const {
    Statuses statuses(items_.size(), -ENOENT);
    for (std::size_t i = 0; i < items_.size(); ++i) {
      statuses[i] = items_[i].concerns(node) ? error : -ENOENT;
    }
    return statuses;
  }

  // What the GPUs have said, in the order of the topology.
  void conclude(const std::vector<Statuses>& gpus) {
    for (std::size_t i = 0; i < items_.size(); ++i) {
      int result = items_[i].error ? items_[i].error : -ENOENT;
      for (const Statuses& statuses : gpus) {
        if (!statuses.empty()) {
          result = items_[i].more_telling(result, statuses[i]);
        }
      }
      items_[i].entry.status = result;
    }
  }

 private:
  struct Item {
    abi::PreemptEntry& entry;
    ProcessPtr target;     // null: the entry is in error
    const Node* only_gpu;  // of a single queue, if known; null: any
    int error;             // instead of a target

    bool is_single() const { return entry.queue_id != abi::kPreemptAllQueues; }
    bool concerns(const Node& node) const {
      return target && (!only_gpu || only_gpu == &node) &&
             (!entry.gpu_id || entry.gpu_id == node.gpu_id);
    }
    // A single queue is on one GPU, whose word counts more than that of one which was not asked.
    // All queues of a process can be on several: the first error counts most, then a change.
    int more_telling(int first, int second) const {
      if (first == -ENOENT || second == -ENOENT) {
        return first == -ENOENT ? second : first;
      }
      if (is_single()) {
        return first == -ETIME ? second : first;
      }
      return first < 0 ? first : std::min(second, first);
    }
  };

  // Not looked at while its process does something that may wait for a GPU: then all are asked.
  static const Node* only_gpu_of(const abi::PreemptEntry& entry, const ProcessPtr& process) {
    if (!process || entry.queue_id == abi::kPreemptAllQueues) {
      return nullptr;
    }
    const std::unique_lock lock(process->mutex, std::try_to_lock);
    const QueuePtr queue = lock ? process->find_queue(entry.queue_id) : nullptr;
    return queue ? &queue->device->node : nullptr;
  }

  std::vector<Item> items_;
};

struct Running {
  PreemptList preempt, resume;
  const PreemptRequest& request;
  const Lease& lease;
  Clock::time_point deadline;
  std::vector<Statuses> preempted, resumed;  // of each GPU; none: it was not concerned

  Running(const Call& call, const PreemptRequest& wanted, const Lease& under)
      : preempt(call, wanted.preempt, under.deadline_ns != 0),
        resume(call, wanted.resume, true),
        request(wanted),
        lease(under),
        deadline(Clock::now() + std::chrono::milliseconds(wanted.timeout_ms)),
        preempted(call.module.nodes.size()),
        resumed(call.module.nodes.size()) {}

  bool concerns(const Node& node) const { return preempt.concerns(node) || resume.concerns(node); }
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

// It was asked, but did not follow.
void fail_what_was_done(Statuses& statuses) {
  std::replace_if(
      statuses.begin(), statuses.end(), [](int status) { return status >= 0; }, -EIO);
}

void run_on_node(Node& node, Running& running) {
  Dqm& dqm = *node.dqm;
  const PreemptRequest& request = running.request;
  Statuses &preempted = running.preempted[node.index], &resumed = running.resumed[node.index];
  std::unique_lock lock(dqm.mutex(), std::defer_lock);
  if (!request.timeout_ms) {
    lock.lock();
  } else if (!lock_until(lock, running.deadline)) {
    preempted = running.preempt.fail_on(node, -ETIME);
    resumed = running.resume.fail_on(node, -ETIME);
    return;
  }
  bool changed = false;
  preempted = running.preempt.flip(node, [&](ProcessDevice& device, u32 queue_id) {
    return dqm.hold(device, queue_id, running.lease, request.type, &changed);
  });
  resumed = running.resume.flip(node, [&](ProcessDevice& device, u32 queue_id) {
    return dqm.release(device, queue_id, running.lease, request.resume_type, &changed);
  });
  const int error = changed ? dqm.apply_holds() : 0;
  lock.unlock();
  if (error) {
    log_error("gpu {:x}: preempting queues: error {}", node.gpu_id, -error);
    fail_what_was_done(preempted);
    fail_what_was_done(resumed);
  }
}

int run(Call& call, const PreemptRequest& request, const FoundLease& found) {
  if (found.error) {
    return found.error;
  }
  if (!found.lease->is_usable() && !request.preempt.empty()) {
    return -ESTALE;
  }
  Running running(call, request, *found.lease);
  on_gpus_if(
      call.module.nodes, [&](const Node& node) { return running.concerns(node); },
      [&](Node& node) { run_on_node(node, running); });
  running.preempt.conclude(running.preempted);
  running.resume.conclude(running.resumed);
  return 0;
}

}  // namespace

int run_under_lease(Call& call, u32 lease_fd, const PreemptRequest& request) {
  return run(call, request,
             call.module.leases->find(call.process, call.caller.files->find(lease_fd)));
}

int run_under_implicit_lease(Call& call, const PreemptRequest& request) {
  return run(call, request, call.module.leases->find_implicit(call.process));
}

}  // namespace vgpu::driver
