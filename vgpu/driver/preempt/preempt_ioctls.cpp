// The preemption calls of kernel/patches (abi/kfd_preempt.h), if the device was started with them.
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>

#include "driver/handlers.h"
#include "driver/preempt/leases.h"
#include "driver/preempt/preempt_request.h"
#include "driver/queues/doorbells.h"
#include "driver/task.h"

namespace vgpu::driver {
namespace {

constexpr u32 kLargestEntry = 4096;

// Nothing of it is done if any of this is wrong. `type` is of what is stopped.
int check_stop(u32 flags, u32 type, u32 grace_period) {
  const bool known =
      type == abi::preempt_save || type == abi::preempt_demote || type == abi::preempt_low;
  return flags || !known || grace_period > abi::kPreemptMaxGracePeriod ? -EINVAL : 0;
}
int check_resume(u32 flags, u32 type, u32 grace_period) {
  const bool known = type == 0 || type == abi::preempt_low;
  return flags || !known || grace_period > abi::kPreemptMaxGracePeriod ? -EINVAL : 0;
}

// The caller's array of entries, which may be longer than ours: read before the call, and the
// status of each written back after it.
class EntryArray {
 public:
  EntryArray(const Call& call, u64 address, u32 entry_size)
      : memory_(*call.caller.memory), address_(address), size_(entry_size) {}

  int read(u32 count) {
    if (count == 0) {
      return 0;
    }
    if (count > abi::kPreemptMaxEntries || size_ < sizeof(abi::PreemptEntry) ||
        size_ > kLargestEntry) {
      return -EINVAL;
    }
    bytes_.resize(std::size_t{count} * size_);
    // Whether it can be written to is tried before anything is done.
    if (!memory_.read(address_, bytes_.data(), bytes_.size()) || write() != 0) {
      return -EFAULT;
    }
    entries_.resize(count);
    for (u32 i = 0; i < count; ++i) {
      const u8* entry = &bytes_[std::size_t{i} * size_];
      if (std::any_of(entry + sizeof(abi::PreemptEntry), entry + size_,
                      [](u8 byte) { return byte != 0; })) {
        return -E2BIG;
      }
      std::memcpy(&entries_[i], entry, sizeof(abi::PreemptEntry));
    }
    return 0;
  }
  int write() {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      std::memcpy(&bytes_[i * size_] + offsetof(abi::PreemptEntry, status), &entries_[i].status,
                  sizeof entries_[i].status);
    }
    return bytes_.empty() || memory_.write(address_, bytes_.data(), bytes_.size()) ? 0 : -EFAULT;
  }
  std::span<abi::PreemptEntry> entries() { return entries_; }

 private:
  UserMemory& memory_;
  u64 address_;
  u32 size_;
  std::vector<u8> bytes_;
  std::vector<abi::PreemptEntry> entries_;
};

// A call about one entry fails with its status.
int result_of(int error, const abi::PreemptEntry& entry) {
  return error ? error : std::min(entry.status, 0);
}

int run_batch(Call& call, abi::BatchQueuesArgs& args,
              std::span<abi::PreemptEntry> PreemptRequest::*list) {
  args.num_done = 0;
  EntryArray array(call, args.entries_ptr, args.entry_size);
  if (const int error = array.read(args.num_entries)) {
    return error;
  }
  PreemptRequest request;
  request.*list = array.entries();
  request.timeout_ms = args.timeout_ms;
  request.type = request.resume_type = args.type;
  if (const int error = run_under_lease(call, args.lease_fd, request)) {
    return error;
  }
  args.num_done = static_cast<u32>(
      std::count_if(array.entries().begin(), array.entries().end(),
                    [](const abi::PreemptEntry& entry) { return entry.status >= 0; }));
  return array.write();
}

u32 flags_of(const Dqm& dqm, const Queue& queue) {
  return (queue.is_active ? abi::kQueueStatusActive : 0) |
         (queue.is_evicted ? abi::kQueueStatusEvicted : 0) |
         (queue.is_suspended ? abi::kQueueStatusSuspended : 0) |
         (queue.is_held ? abi::kQueueStatusHeld : 0) |
         (queue.is_waiting ? abi::kQueueStatusWaiting : 0) |
         (dqm.is_low(queue) ? abi::kQueueStatusLow : 0);
}

// The queues of processes the caller has a pid for, with that pid.
std::vector<abi::QueueStatus> as_seen_by(pid_t caller, const std::vector<abi::QueueStatus>& all) {
  std::map<u32, u32> pids;
  std::vector<abi::QueueStatus> seen;
  for (abi::QueueStatus queue : all) {
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

// Of the GPU, or everything the driver knows: these GPUs have no MES.
int get_preempt_caps(Call& call, abi::PreemptCapsArgs& args) {
  if (args.flags || (args.gpu_id && !call.module.find_node(args.gpu_id))) {
    return -EINVAL;
  }
  args.version = abi::kPreemptVersion;
  args.caps = abi::kPreemptCapQueues | abi::kPreemptCapStatus | abi::kPreemptCapReservation |
              (args.gpu_id ? 0 : abi::kPreemptCapDemote) |
              (call.module.config.early_ioctls ? abi::kPreemptCapEarly : 0);
  args.max_entries = abi::kPreemptMaxEntries;
  args.max_grace_period = abi::kPreemptMaxGracePeriod;
  args.max_leases = abi::kPreemptMaxLeases;
  args.max_timeout_ms = abi::kPreemptMaxTimeoutMs;
  return 0;
}

int preempt_lease(Call& call, abi::PreemptLeaseArgs& args) {
  const bool creates = args.op == abi::preempt_lease_create;
  if (args.flags || args.timeout_ms > abi::kPreemptMaxTimeoutMs ||
      (!creates && (args.op != abi::preempt_lease_renew || args.timeout_ms == 0))) {
    return -EINVAL;
  }
  Leases& leases = *call.module.leases;
  if (creates) {
    return leases.create(call.process, args.timeout_ms, &call.caller.reply_fd);
  }
  const FoundLease found = leases.find(call.process, call.caller.files->find(args.lease_fd));
  if (!found.error) {
    leases.set_deadline(found.lease, args.timeout_ms);
  }
  return found.error;
}

int preempt_queue(Call& call, abi::PreemptQueueArgs& args) {
  if (const int error = check_stop(args.flags | args.pad, args.type, args.grace_period)) {
    return error;
  }
  PreemptRequest request;
  request.preempt = {&args.entry, 1};
  request.timeout_ms = args.timeout_ms;
  request.type = args.type;
  return result_of(run_under_lease(call, args.lease_fd, request), args.entry);
}

int resume_queue(Call& call, abi::PreemptQueueArgs& args) {
  if (const int error = check_resume(args.flags | args.pad, args.type, args.grace_period)) {
    return error;
  }
  PreemptRequest request;
  request.resume = {&args.entry, 1};
  request.timeout_ms = args.timeout_ms;
  request.resume_type = args.type;
  return result_of(run_under_lease(call, args.lease_fd, request), args.entry);
}

int batch_unmap_queues(Call& call, abi::BatchQueuesArgs& args) {
  const int error = check_stop(args.flags, args.type, args.grace_period);
  return error ? error : run_batch(call, args, &PreemptRequest::preempt);
}

int fast_remap(Call& call, abi::BatchQueuesArgs& args) {
  const int error = check_resume(args.flags, args.type, args.grace_period);
  return error ? error : run_batch(call, args, &PreemptRequest::resume);
}

int swap_queues(Call& call, abi::SwapQueuesArgs& args) {
  EntryArray preempt(call, args.preempt_ptr, args.entry_size);
  EntryArray resume(call, args.resume_ptr, args.entry_size);
  int error = args.type == abi::preempt_low ? -EINVAL
                                            : check_stop(args.flags, args.type, args.grace_period);
  error = error ? error : preempt.read(args.num_preempt);
  error = error ? error : resume.read(args.num_resume);
  if (error) {
    return error;
  }
  const PreemptRequest request{preempt.entries(), resume.entries(), args.timeout_ms, args.type};
  error = run_under_lease(call, args.lease_fd, request);
  error = error ? error : preempt.write();
  return error ? error : resume.write();
}

namespace {

// What fits of the list, at the caller's distance from each other.
int write_list(Call& call, const abi::QueueStatusArgs& args, u32 stride,
               const std::vector<abi::QueueStatus>& list) {
  const std::size_t room = std::min<std::size_t>(args.num_queues, list.size());
  for (std::size_t i = 0; i < room; ++i) {
    if (!call.caller.memory->write(args.queues_ptr + i * stride, &list[i], sizeof list[i])) {
      return -EFAULT;
    }
  }
  return 0;
}

}  // namespace

// The counts are of everybody; the list has what the caller may see. No register is read.
int get_queue_status(Call& call, abi::QueueStatusArgs& args) {
  const u32 stride = args.entry_size;
  if (args.flags ||
      (args.num_queues && (stride < sizeof(abi::QueueStatus) || stride > kLargestEntry))) {
    return -EINVAL;
  }
  const bool sees_all = has_capability(call.caller.tid, kCapSysNice);
  Node* node = call.module.find_node(args.gpu_id);
  if (!node) {
    return -EINVAL;
  }
  std::vector<abi::QueueStatus> list;
  {
    const std::lock_guard lock(node->dqm->mutex());
    std::vector<QueuePtr> queues;
    node->dqm->get_status(args, queues);
    for (const QueuePtr& queue : queues) {
      const Process& process = queue->device->process;
      if (sees_all || &process == &call.process) {
        list.push_back({static_cast<u32>(process.pid), queue->id, queue->ioc_type, queue->priority,
                        flags_of(*node->dqm, *queue), node->dqm->holds_on(*queue),
                        doorbell_dword_offset(*queue->device, queue->doorbell_slot), 0});
      }
    }
  }
  list = as_seen_by(call.caller.pid, list);
  const int error = write_list(call, args, stride, list);
  args.num_queues = static_cast<u32>(list.size());
  args.entry_size = sizeof(abi::QueueStatus);
  return error;
}

int set_slot_reservation(Call& call, abi::SlotReservationArgs& args) {
  const u32 rotate_ms = args.rotate_ms ? args.rotate_ms : abi::kSlotRotateDefaultMs;
  if (args.flags || args.pad || rotate_ms < abi::kSlotRotateMinMs) {
    return -EINVAL;
  }
  if (!has_capability(call.caller.tid, kCapSysNice)) {
    return -EPERM;
  }
  Node* node = call.module.find_node(args.gpu_id);
  if (!node) {
    return -EINVAL;
  }
  const FoundLease found =
      call.module.leases->find(call.process, call.caller.files->find(args.lease_fd));
  if (found.error) {
    return found.error;
  }
  const std::lock_guard lock(node->dqm->mutex());
  return node->dqm->reserve_slots(*found.lease, {args.reserved_slots, rotate_ms});
}

}  // namespace vgpu::driver
