// Queues that leases hold (kernel/patches 0001, 0004, 0006). A hold is a record {lease, process on
// this GPU, queue or all queues}; each lease gives back its own records only.
#include <algorithm>
#include <cerrno>

#include "device/clock.h"
#include "driver/preempt/leases.h"
#include "driver/process.h"
#include "driver/queues/dqm.h"

namespace vgpu::driver {
namespace {

// Without a save area an unmap waits for the end of running waves, which may never come.
bool can_save_waves(const Queue& queue) { return queue.is_sdma() || queue.ctx_save_address; }

Queue* find_by_id(const ProcessDevice& device, u32 queue_id) {
  const auto found = std::find_if(device.queues.begin(), device.queues.end(),
                                  [&](const QueuePtr& queue) { return queue->id == queue_id; });
  return found == device.queues.end() ? nullptr : found->get();
}

}  // namespace

bool Dqm::Hold::covers(const Queue& other) const {
  return device == other.device && (!queue || queue == &other);
}

bool Dqm::Hold::is_same(const Hold& other) const {
  return lease == other.lease && device == other.device && queue == other.queue &&
         is_low == other.is_low;
}

u32 Dqm::holds_on(const Queue& queue) const {
  return static_cast<u32>(std::count_if(holds_.begin(), holds_.end(), [&](const Hold& hold) {
    return !hold.is_low && hold.covers(queue);
  }));
}

bool Dqm::is_covered(const Queue& queue) const { return holds_on(queue) != 0; }

// Other queues take no slots.
bool Dqm::is_low(const Queue& queue) const {
  return queue.is_compute() && std::any_of(holds_.begin(), holds_.end(), [&](const Hold& hold) {
           return hold.is_low && hold.lease == reservation_owner_ && hold.covers(queue);
         });
}

// From the first held queue of a process to the last one: preempted_ms counts the time in between,
// and those who listen to SMI events hear of both ends.
void Dqm::set_held(Queue& queue, bool held) {
  if (queue.is_held == held) {
    return;
  }
  ProcessDevice& device = *queue.device;
  queue.is_held = held;
  if (held && device.held_queues++ == 0) {
    device.first_held_ns = device::now_ns();
    node_.smi.queue_eviction(device.process.pid, node_.gpu_id, abi::kEvictionPreempt);
  } else if (!held && --device.held_queues == 0) {
    device.preempted_ms += (device::now_ns() - device.first_held_ns.exchange(0)) / 1'000'000;
    node_.smi.queue_restore(device.process.pid, node_.gpu_id);
  }
}

// Brings a queue in line with the holds on it. True: the device must be told.
bool Dqm::update_held(Queue& queue) {
  const bool held = is_covered(queue);
  if (held == queue.is_held) {
    return false;
  }
  set_held(queue, held);
  if (queue.is_active == queue.should_be_active()) {
    return false;  // another reason keeps it off, or a reservation did not let it on
  }
  queue.is_active = !queue.is_active;
  count(queue, queue.is_active ? 1 : -1);
  return true;
}

// After a record came or went: all queues it covers. Who is low is decided anew with every change.
bool Dqm::update_covered(const Hold& gone_or_new) {
  if (gone_or_new.is_low) {
    return gone_or_new.lease == reservation_owner_;
  }
  bool changed = false;
  for (const QueuePtr& queue : gone_or_new.device->queues) {
    if (gone_or_new.covers(*queue)) {
      changed |= update_held(*queue);
    }
  }
  return changed;
}

int Dqm::hold(ProcessDevice& device, u32 queue_id, const Lease& lease, u32 type, bool* changed) {
  const bool all = queue_id == abi::kPreemptAllQueues;
  const Queue* queue = all ? nullptr : find_by_id(device, queue_id);
  if (device.is_terminated || (!all && !queue)) {
    return -ENOENT;
  }
  if (!lease.is_usable()) {
    return -ESTALE;
  }
  const Hold wanted{&lease, &device, queue, type == abi::preempt_low, lease.term};
  const bool can_save = std::all_of(
      device.queues.begin(), device.queues.end(),
      [&](const QueuePtr& each) { return !wanted.covers(*each) || can_save_waves(*each); });
  // Demoting is for GPUs with MES, which these are not.
  if (type == abi::preempt_demote || (type == abi::preempt_save && !can_save)) {
    return -EOPNOTSUPP;
  }
  const auto same = std::find_if(holds_.begin(), holds_.end(),
                                 [&](const Hold& hold) { return hold.is_same(wanted); });
  if (same != holds_.end()) {
    same->term = wanted.term;  // an expiry before it does not release it any more
    return abi::kPreemptUnchanged;
  }
  holds_.push_back(wanted);
  *changed |= update_covered(wanted);
  return 0;
}

int Dqm::release_matching(const std::function<bool(const Hold&)>& matches, bool* changed) {
  int result = abi::kPreemptUnchanged;
  for (auto place = holds_.begin(); place != holds_.end();) {
    const auto current = place++;
    if (matches(*current)) {
      const Hold gone = *current;
      holds_.erase(current);
      *changed |= update_covered(gone);
      result = 0;
    }
  }
  return result;
}

int Dqm::release(ProcessDevice& device, u32 queue_id, const Lease& lease, u32 type, bool* changed) {
  const bool all = queue_id == abi::kPreemptAllQueues;
  const Queue* queue = all ? nullptr : find_by_id(device, queue_id);
  if (device.is_terminated || (!all && !queue)) {
    return -ENOENT;
  }
  // A queue that is held as one of all of its process stays so when it is named alone.
  return release_matching(
      [&](const Hold& hold) {
        return hold.lease == &lease && hold.device == &device && (all || hold.queue == queue) &&
               hold.is_low == (type == abi::preempt_low);
      },
      changed);
}

void Dqm::release_lease(const Lease& lease, u32 before_term, bool* changed) {
  release_matching(
      [&](const Hold& hold) { return hold.lease == &lease && hold.term < before_term; }, changed);
  if (reservation_owner_ == &lease && reservation_term_ < before_term) {
    reservation_owner_ = nullptr;
    reservation_ = {};
    cancel_rotation();
    *changed = true;
  }
}

// A queue on its way out.
void Dqm::forget_queue(Queue& queue) {
  holds_.remove_if([&](const Hold& hold) { return hold.queue == &queue; });
  set_held(queue, false);
  slot_users_.remove(&queue);
  slot_waiters_.remove(&queue);
}

void Dqm::get_status(abi::QueueStatusArgs& counts, std::vector<QueuePtr>& queues) const {
  for (const ProcessDevice* device : processes_) {
    queues.insert(queues.end(), device->queues.begin(), device->queues.end());
  }
  counts.scheduler = sent_.active && sent_.chained ? abi::kSchedulerOversubscribed : 0;
  counts.num_slots = node_.config.hqds;
  counts.num_vmids = node_.config.vmids;
  counts.num_processes = static_cast<u32>(processes_.size());
  counts.total_queues = static_cast<u32>(queues.size());
  counts.active_queues = active_queues_;
  counts.active_compute_queues = active_compute_queues_;
  counts.held_queues = static_cast<u32>(std::count_if(
      queues.begin(), queues.end(), [](const QueuePtr& queue) { return queue->is_held; }));
  counts.waiting_queues = static_cast<u32>(slot_waiters_.size());
  counts.reserved_slots = reservation_.slots;
}

}  // namespace vgpu::driver
