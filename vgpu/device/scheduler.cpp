// Which work a worker does next.
//
// Two kinds compete: handing out work-groups of dispatches (and groups waiting in a save area)
// while the CUs have room, and going on with what is resident. Launching comes first, so that the
// device fills up as hardware does, but not for more than a slice's worth of instructions at a
// time, so that a stream of short work-groups does not starve a long one. Resident groups take
// turns by queue, then by group. Room on the CUs goes to the highest priority that wants it; groups
// that are resident are never removed for it.
#include <algorithm>

#include "device/dispatch.h"
#include "device/guest_memory.h"
#include "device/impl.h"
#include "device/slice.h"

namespace vgpu::device {
namespace {

constexpr u64 kLookNs = 2'000;  // doorbells and awaited memory: not more often than this

// 0-6 low, 7-10 medium, 11-15 high: pipe_priority_map, kfd_mqd_manager.c.
u32 pipe_priority(u32 priority) { return priority >= 11 ? 2 : priority >= 7 ? 1 : 0; }

bool before(const QueueExecution* a, const QueueExecution* b) {
  const u32 pa = a->mqd->properties.priority;
  const u32 pb = b->mqd->properties.priority;
  if (pipe_priority(pa) != pipe_priority(pb)) {
    return pipe_priority(pa) > pipe_priority(pb);
  }
  return pa != pb ? pa > pb : a->launched_at < b->launched_at;
}

bool awaits_memory(Stall stall) { return stall != Stall::none && stall != Stall::barrier; }

}  // namespace

// Takes note of what happened outside: rings, packets, signals.
void Gpu::Impl::look_around() {
  if (phase_ != Phase::running) {
    return;
  }
  const u64 now = now_ns();
  if (now - looked_at_ >= kLookNs) {
    looked_at_ = now;
    look_at_doorbells();
    recheck_stalls_ = true;
  }
  advance_queues();
  rotate_if_due();
}

Task Gpu::Impl::pick(Worker& self) {
  if (phase_ == Phase::preempting) {
    const Task save = pick_save();
    return save.kind != Task::Kind::none ? save : pick_runnable();  // only what drains
  }
  if (phase_ != Phase::running) {
    return {};
  }
  Task task = pick_leaving();
  if (task.kind == Task::Kind::none && self.launch_credit < kSliceInstructions) {
    task = pick_launch();
  }
  if (task.kind == Task::Kind::none) {
    task = pick_runnable();
  }
  if (task.kind == Task::Kind::none) {
    self.launch_credit = 0;
    task = pick_launch();
  }
  return task;
}

// True if the queue was rung since the last look.
bool Gpu::Impl::doorbell_changed(QueueExecution& queue) {
  const Doorbell& bell = queue.mqd->doorbell;
  const u64 ring = bell.page->slot(bell.slot).load(std::memory_order_acquire);
  if (ring == queue.last_ring) {
    return false;
  }
  queue.last_ring = ring;
  activity();
  return true;
}

// A mapped queue learns of packets from its doorbell. A ring of a waiting queue only says that the
// device should look whether it is its turn: the write index is read when the queue is mapped.
void Gpu::Impl::look_at_doorbells() {
  for (const MqdPtr& mqd : listed_) {
    QueueExecution& queue = *mqd->execution;
    if (!doorbell_changed(queue) || !queue.mapped || queue.last_ring == kNeverRung ||
        mqd->properties.ring_size == 0) {
      continue;
    }
    if (injection_.drop_doorbells > 0) {
      --injection_.drop_doorbells;
      continue;
    }
    // AQL: the index of the last packet; SDMA: the byte behind the last packet.
    queue.write = std::max(queue.write, queue.is_sdma() ? queue.last_ring : queue.last_ring + 1);
    if (queue.is_sdma()) {
      continue;
    }
    // Several producers may ring out of order. Hardware sees each store; here the one with the
    // higher index may have been overwritten. The write index has both; what is not written yet
    // still has an INVALID header.
    if (const auto* index = guest_word<u64>(mqd->vmid->memory, mqd->properties.wptr_addr)) {
      queue.write = std::max(queue.write, load_acquire(index));
    }
  }
}

void Gpu::Impl::advance_queues() {
  // Completing a packet of one queue can satisfy a dependency of another that was looked at before.
  for (bool again = true; again;) {
    const bool recheck = recheck_stalls_;
    recheck_stalls_ = false;
    for (QueueExecution* queue : mapped_) {
      if (!queue->is_sdma() && (recheck || !awaits_memory(queue->stall))) {
        advance(*queue);
      }
    }
    again = recheck_stalls_;
  }
}

bool Gpu::Impl::runnable(const QueueExecution& queue, u64 now) const {
  if (queue.stopped || (queue.leaving && !queue.draining) || now < queue.runs_from_ns) {
    return false;
  }
  if (phase_ == Phase::preempting && !queue.draining) {
    return false;
  }
  if (queue.is_sdma()) {
    return queue.running == 0 && queue.read != queue.write && now >= queue.poll_not_before;
  }
  return !queue.ready.empty();
}

Task Gpu::Impl::pick_runnable() {
  const u64 now = now_ns();
  for (size_t i = 0; i < mapped_.size(); ++i) {
    const size_t index = (next_runnable_ + i) % mapped_.size();
    QueueExecution& queue = *mapped_[index];
    if (!runnable(queue, now)) {
      continue;
    }
    next_runnable_ = index + 1;
    if (queue.is_sdma()) {
      return start_sdma(queue);
    }
    Task task;
    task.queue = &queue;
    task.kind = Task::Kind::run_group;
    task.group = queue.ready.front();
    queue.ready.pop_front();
    task.group->state = WorkGroup::State::running;
    return task;
  }
  return {};
}

bool Gpu::Impl::wants_launch(const QueueExecution& queue) const {
  return !queue.is_sdma() && !queue.stopped && !queue.leaving &&
         (!queue.saved.empty() || queue.launching);
}

// Strictly by priority: a queue that finds no room keeps those below it off the CUs it waits for.
Task Gpu::Impl::pick_launch() {
  std::vector<QueueExecution*>& wanting = wanting_;
  wanting.clear();
  const u64 now = now_ns();
  for (QueueExecution* queue : mapped_) {
    if (wants_launch(*queue) && now >= queue->runs_from_ns) {
      wanting.push_back(queue);
    }
  }
  std::sort(wanting.begin(), wanting.end(), before);
  CuSet reserved;
  for (QueueExecution* queue : wanting) {
    const std::optional<Footprint> need = next_footprint(*queue);
    if (!need) {
      continue;  // waits for scratch slots, which its own waves will free
    }
    if (const auto place = occupancy_.place(*need, queue->cus & ~reserved)) {
      note_occupancy();
      queue->launched_at = ++launch_sequence_;
      return start_group(*queue, *place);
    }
    reserved |= queue->cus;
  }
  return {};
}

// Whether the queue's next group is one from the save area. Those and groups that were never
// started take turns: in a short time slice only a few come to run, and it must not always be the
// same.
bool Gpu::Impl::restore_next(const QueueExecution& queue) const {
  if (queue.saved.empty() || !queue.launching) {
    return !queue.saved.empty();
  }
  const Packet& packet = *queue.launching;
  const u32 waves = group_shape(packet, packet.next_group).waves();
  return !queue.restored_last || !take_scratch_slots(queue, packet, waves, nullptr);
}

// What the queue's next group takes; nothing if it cannot start whatever the room.
std::optional<Footprint> Gpu::Impl::next_footprint(const QueueExecution& queue) const {
  if (restore_next(queue)) {
    return queue.saved.front()->footprint;
  }
  const Packet& packet = *queue.launching;
  Footprint need = packet.footprint;
  need.waves = group_shape(packet, packet.next_group).waves();
  if (!take_scratch_slots(queue, packet, need.waves, nullptr)) {
    return std::nullopt;
  }
  return need;
}

// Whether `waves` scratch slots are free; `slots` gets their numbers.
bool Gpu::Impl::take_scratch_slots(const QueueExecution& queue, const Packet& packet, u32 waves,
                                   std::vector<u32>* slots) const {
  if (packet.scratch.wave_bytes == 0) {
    return true;
  }
  u32 found = 0;
  for (u32 slot = 0; slot < packet.scratch.waves && found < waves; ++slot) {
    if (slot >= queue.scratch_slots.size() || !queue.scratch_slots[slot]) {
      ++found;
      if (slots) {
        slots->push_back(slot);
      }
    }
  }
  return found == waves;
}

Task Gpu::Impl::start_group(QueueExecution& queue, const Placement& placement) {
  Task task;
  task.queue = &queue;
  queue.restored_last = restore_next(queue);
  task.first_slice = true;
  if (queue.restored_last) {
    task.kind = Task::Kind::restore_group;
    task.group = queue.saved.front();
    queue.saved.pop_front();
    stats_.waves_restored += task.group->footprint.waves;
    task.group->placement = placement;
    task.group->state = WorkGroup::State::running;
    return task;
  }
  Packet& packet = *queue.launching;
  const u64 number = packet.next_group++;
  if (number == 0) {
    packet.start_ts = gpu_clock();
  }
  if (packet.next_group == packet.group_count) {
    queue.launching = nullptr;
  }
  Footprint footprint = packet.footprint;
  footprint.waves = group_shape(packet, number).waves();
  queue.groups.push_back(std::make_unique<WorkGroup>(queue, packet, footprint));
  WorkGroup& group = *queue.groups.back();
  group.self = std::prev(queue.groups.end());
  group.number = number;
  group.placement = placement;
  take_scratch_slots(queue, packet, footprint.waves, &group.scratch);
  for (const u32 slot : group.scratch) {
    if (slot >= queue.scratch_slots.size()) {
      queue.scratch_slots.resize(slot + 1);
    }
    queue.scratch_slots[slot] = true;
  }
  task.kind = Task::Kind::run_group;
  task.group = &group;
  return task;
}

// More than one worker could be busy.
bool Gpu::Impl::more_work() const {
  if (sleepers_ == 0) {
    return false;
  }
  const u64 now = now_ns();
  return std::any_of(mapped_.begin(), mapped_.end(), [&](const QueueExecution* queue) {
    return runnable(*queue, now) || wants_launch(*queue);
  });
}

// The save area is gone: the program freed it under a live queue.
void Gpu::Impl::restore_failed(WorkGroup& group) {
  memory_fault(group.queue, group.queue.mqd->properties.save_area, false);
  group.state = WorkGroup::State::ready;
  remove_group(group);
}

void Gpu::Impl::finish_group(WorkGroup& group, const SliceResult& slice) {
  group.state = WorkGroup::State::ready;
  if (slice.idle) {
    ++idle_slices_;
  } else {
    idle_slices_ = 0;
    nap_ns_ = 0;
  }
  if (group.ended()) {
    Packet& packet = group.packet;
    QueueExecution& queue = group.queue;
    remove_group(group);
    if (++packet.groups_done == packet.group_count) {
      complete_packet(queue, packet);
    }
    return;
  }
  if (slice.stop != isa::Stop::none) {
    wave_stopped(group, slice);
  }
  group.queue.ready.push_back(&group);
}

// Ends the group's stay on the device.
void Gpu::Impl::remove_group(WorkGroup& group) {
  QueueExecution& queue = group.queue;
  if (group.state != WorkGroup::State::saved) {
    release_cu(group);
  }
  for (const u32 slot : group.scratch) {
    queue.scratch_slots[slot] = false;
  }
  queue.groups.erase(group.self);
}

Task Gpu::Impl::start_sdma(QueueExecution& queue) {
  const QueueProperties& properties = queue.mqd->properties;
  Task task;
  task.kind = Task::Kind::sdma;
  task.queue = &queue;
  task.sdma.emplace(queue.mqd->vmid->memory, properties.ring_base, properties.ring_size,
                    properties.rptr_addr);
  task.sdma->read = queue.read;
  task.sdma->write = queue.write;
  task.sdma->done = queue.packet_done;
  return task;
}

void Gpu::Impl::finish_sdma(Task& task, SdmaOutcome outcome) {
  QueueExecution& queue = *task.queue;
  const SdmaRing& ring = *task.sdma;
  constexpr u64 kBytesPerInstruction = 256;  // of the time slice: about what a wave moves
  quantum_used_ += ring.bytes_moved / kBytesPerInstruction + 1;
  if (queue.read != ring.read) {
    activity();
    recheck_stalls_ = true;  // a dependency may have been a signal this queue completed
  }
  for (const u32 event : ring.events) {
    post_event(queue, event);
  }
  queue.read = ring.read;
  queue.packet_done = ring.done;
  switch (outcome) {
    case SdmaOutcome::more:
    case SdmaOutcome::empty: break;
    case SdmaOutcome::waiting: queue.poll_not_before = now_ns() + kLookNs; break;
    case SdmaOutcome::fault: memory_fault(queue, ring.fault_va, ring.fault_write); break;
    case SdmaOutcome::bad_packet:
      log_error("sdma: packet header {:#x} cannot be run, pasid {}", ring.bad_header,
                queue.mqd->vmid->pasid);
      queue_failed(queue, QueueError::bad_packet, 0);
      break;
  }
}

// When to look again although nobody rings; 0: not needed.
u64 Gpu::Impl::next_timer(u64 now) {
  u64 timer = 0;
  const auto at = [&](u64 when) { timer = timer == 0 ? when : std::min(timer, when); };
  if (phase_ != Phase::running) {
    return 0;
  }
  for (const QueueExecution* queue : mapped_) {
    if (queue->stopped || queue->leaving) {
      continue;
    }
    if (awaits_memory(queue->stall) || (queue->is_sdma() && queue->read != queue->write)) {
      at(now + poll_delay_);
    } else if (queue->runs_from_ns > now && wants_launch(*queue)) {
      at(queue->runs_from_ns);
    }
  }
  const auto with_work = [&](const MqdPtr& mqd) { return has_work(*mqd->execution); };
  if (doorbells_open() || std::any_of(waiting_.begin(), waiting_.end(), with_work)) {
    at(now + poll_delay_);  // waiting: its turn comes even if what is mapped only waits
  }
  return timer;
}

}  // namespace vgpu::device
