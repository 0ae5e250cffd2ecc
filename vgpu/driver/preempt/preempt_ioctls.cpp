// The preemption calls of kernel/patches (abi/kfd_preempt.h), if the device was started with them.
#include <algorithm>
#include <cerrno>
#include <map>

#include "driver/handlers.h"
#include "driver/preempt/leases.h"
#include "driver/preempt/preempt_request.h"
#include "driver/queues/doorbells.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

// The scheduler saves, or resets all queues of a process.
int check_type(u32 type) {
  switch (type) {
    case abi::preempt_save:
    case abi::preempt_demote: return 0;
    case abi::preempt_drain:
    case abi::preempt_reset: return -EOPNOTSUPP;
    default: return -EINVAL;
  }
}

// The caller's array of entries: read before the call, written back after it.
class EntryArray {
 public:
  EntryArray(const Call& call, u64 address) : memory_(*call.caller.memory), address_(address) {}
  int read(u32 count) {
    if (count > abi::kPreemptMaxEntries) {
      return -EINVAL;
    }
    entries_.resize(count);
    return count == 0 || memory_.read(address_, entries_.data(), bytes()) ? 0 : -EFAULT;
  }
  int write() {
    return entries_.empty() || memory_.write(address_, entries_.data(), bytes()) ? 0 : -EFAULT;
  }
  std::span<abi::PreemptEntry> entries() { return entries_; }

 private:
  u64 bytes() const { return entries_.size() * sizeof(abi::PreemptEntry); }
  UserMemory& memory_;
  u64 address_;
  std::vector<abi::PreemptEntry> entries_;
};

// A call about one entry fails with its status.
int result_of(int error, const abi::PreemptEntry& entry) {
  return error ? error : std::min(entry.status, 0);
}

int run_batch(Call& call, abi::BatchQueuesArgs& args,
              std::span<abi::PreemptEntry> PreemptRequest::*list) {
  args.num_done = 0;
  EntryArray array(call, args.entries_ptr);
  if (const int error = array.read(args.num_entries)) {
    return error;
  }
  PreemptRequest request;
  request.*list = array.entries();
  request.grace_period = args.grace_period;
  request.timeout_ms = args.timeout_ms;
  request.demote = args.type == abi::preempt_demote;
  if (const int error = run_under_lease(call, args.lease_fd, request)) {
    return error;
  }
  args.num_done = static_cast<u32>(
      std::count_if(array.entries().begin(), array.entries().end(),
                    [](const abi::PreemptEntry& entry) { return entry.status >= 0; }));
  return array.write();
}

u32 flags_of(const Queue& queue) {
  return (queue.is_active ? abi::kHqdQueueActive : 0) |
         (queue.is_evicted ? abi::kHqdQueueEvicted : 0) |
         (queue.is_suspended ? abi::kHqdQueueSuspended : 0) |
         (queue.is_held ? abi::kHqdQueueHeld : 0) | (queue.is_waiting ? abi::kHqdQueueWaiting : 0);
}

// The queues of processes the caller has a pid for, with that pid.
std::vector<abi::HqdQueue> as_seen_by(pid_t caller, const std::vector<abi::HqdQueue>& all) {
  std::map<u32, u32> pids;
  std::vector<abi::HqdQueue> seen;
  for (abi::HqdQueue queue : all) {
    const auto [known, is_new] = pids.try_emplace(queue.pid);
    if (is_new) {
      known->second = static_cast<u32>(pid_as_seen_by(static_cast<pid_t>(queue.pid), caller));
    }
    queue.pid = known->second;
    if (queue.pid) {
      seen.push_back(queue);
    }
  }
  return seen;
}

}  // namespace

int get_preempt_caps(Call& call, abi::PreemptCapsArgs& args) {
  args.version = abi::kPreemptVersion;
  args.flags = abi::kPreemptCapQueues | abi::kPreemptCapStatus | abi::kPreemptCapReservation |
               abi::kPreemptCapDemote |
               (call.module.config.early_ioctls ? abi::kPreemptCapEarly : 0);
  args.max_entries = abi::kPreemptMaxEntries;
  args.max_grace_period = abi::kPreemptMaxGracePeriod;
  return 0;
}

int preempt_lease(Call& call, abi::PreemptLeaseArgs& args) {
  if (args.pad) {
    return -EINVAL;
  }
  Leases& leases = *call.module.leases;
  if (args.op == abi::preempt_lease_create) {
    return leases.create(call.process, args.timeout_ms, &call.caller.reply_fd);
  }
  if (args.op != abi::preempt_lease_renew) {
    return -EINVAL;
  }
  const LockedLease locked = leases.find(call.process, call.caller.files->find(args.lease_fd));
  if (!locked.error) {
    leases.set_deadline(locked.lease, args.timeout_ms);
  }
  return locked.error;
}

int preempt_queue(Call& call, abi::PreemptQueueArgs& args) {
  if (const int error = check_type(args.type)) {
    return error;
  }
  PreemptRequest request;
  request.preempt = {&args.entry, 1};
  request.grace_period = args.grace_period;
  request.timeout_ms = args.timeout_ms;
  request.demote = args.type == abi::preempt_demote;
  return result_of(run_under_lease(call, args.lease_fd, request), args.entry);
}

int resume_queue(Call& call, abi::ResumeQueueArgs& args) {
  PreemptRequest request;
  request.resume = {&args.entry, 1};
  request.timeout_ms = args.timeout_ms;
  return result_of(run_under_lease(call, args.lease_fd, request), args.entry);
}

int batch_unmap_queues(Call& call, abi::BatchQueuesArgs& args) {
  const int error = check_type(args.type);
  return error ? error : run_batch(call, args, &PreemptRequest::preempt);
}

int fast_remap(Call& call, abi::BatchQueuesArgs& args) {
  return args.type ? -EINVAL : run_batch(call, args, &PreemptRequest::resume);
}

int swap_queues(Call& call, abi::SwapQueuesArgs& args) {
  EntryArray preempt(call, args.preempt_ptr), resume(call, args.resume_ptr);
  int error = check_type(args.type);
  error = error ? error : preempt.read(args.num_preempt);
  error = error ? error : resume.read(args.num_resume);
  if (error) {
    return error;
  }
  const PreemptRequest request{preempt.entries(), resume.entries(), args.grace_period,
                               args.timeout_ms, args.type == abi::preempt_demote};
  error = run_under_lease(call, args.lease_fd, request);
  error = error ? error : preempt.write();
  return error ? error : resume.write();
}

// The counts are of everybody; the list has what the caller may see. No register is read.
int get_hqd_status(Call& call, abi::HqdStatusArgs& args) {
  const bool sees_all = has_capability(call.caller.tid, kCapSysNice);
  Node* node = call.module.find_node(args.gpu_id);
  if (!node) {
    return -EINVAL;
  }
  std::vector<abi::HqdQueue> list;
  {
    const std::lock_guard lock(node->dqm->mutex());
    std::vector<QueuePtr> queues;
    node->dqm->get_status(args, queues);
    for (const QueuePtr& queue : queues) {
      const Process& process = queue->device->process;
      if (sees_all || &process == &call.process) {
        list.push_back({static_cast<u32>(process.pid), queue->id, queue->ioc_type, queue->priority,
                        flags_of(*queue), node->dqm->holds_on(*queue),
                        doorbell_dword_offset(*queue->device, queue->doorbell_slot), 0});
      }
    }
  }
  list = as_seen_by(call.caller.pid, list);
  const std::size_t room = std::min<std::size_t>(args.num_queues, list.size());
  args.num_queues = static_cast<u32>(list.size());
  const u64 bytes = room * sizeof(abi::HqdQueue);
  return bytes == 0 || call.caller.memory->write(args.queues_ptr, list.data(), bytes) ? 0 : -EFAULT;
}

int set_hqd_reservation(Call& call, abi::HqdReservationArgs& args) {
  const u32 rotate_ms = args.rotate_ms ? args.rotate_ms : abi::kHqdRotateDefaultMs;
  if (args.pad || rotate_ms < abi::kHqdRotateMinMs || args.low_priority > abi::kMaxQueuePriority) {
    return -EINVAL;
  }
  if (!has_capability(call.caller.tid, kCapSysNice)) {
    return -EPERM;
  }
  Node* node = call.module.find_node(args.gpu_id);
  if (!node) {
    return -EINVAL;
  }
  const LockedLease locked =
      call.module.leases->find(call.process, call.caller.files->find(args.lease_fd));
  if (locked.error) {
    return locked.error;
  }
  if (locked.lease->expired && args.reserved_slots) {
    return -ESTALE;
  }
  const std::lock_guard lock(node->dqm->mutex());
  return node->dqm->reserve_slots(*locked.lease,
                                  {args.reserved_slots, args.low_priority, rotate_ms});
}

}  // namespace vgpu::driver
