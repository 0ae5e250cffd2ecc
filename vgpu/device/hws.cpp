// The hardware scheduler: which queues of the run list have a slot.
//
// If the list fits, every queue is mapped and stays so. If there are more compute or SDMA queues
// than slots, or more processes than VMIDs, the rest waits. When a waiting queue has work and the
// quantum is used up, or nothing that is mapped can run, queues give up their slots: idle ones
// first, then those mapped longest. They go to the end of the waiting line, so everyone has a turn.
#include <algorithm>
#include <set>

#include "device/guest_memory.h"
#include "device/impl.h"

namespace vgpu::device {
namespace {

u64 read_pointer(const QueueExecution& queue, u64 va, bool& ok) {
  const auto* word = guest_word<u64>(queue.mqd->vmid->memory, va);
  ok = ok && word;
  return word ? load_acquire(word) : 0;
}

bool has_nothing(const QueueExecution& queue) {
  return queue.running == 0 && queue.groups.empty() && queue.next() >= queue.write;
}

}  // namespace

void Gpu::Impl::run_list(RunList list) {
  std::lock_guard hws(hws_mutex_);
  Lock lock(mutex_);
  ++stats_.runlists;
  for (RunListProcess& process : list) {
    for (MqdPtr& mqd : process.queues) {
      mqd->execution->mqd = mqd.get();
      listed_.push_back(mqd);
      waiting_.push_back(std::move(mqd));
    }
  }
  // Who waited when the last list was taken down goes first: changing the list often must not
  // starve its end.
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const MqdPtr& a, const MqdPtr& b) {
    return a->execution->waited_since < b->execution->waited_since;
  });
  auto doorbells = std::make_shared<std::vector<Doorbell>>();
  for (const MqdPtr& mqd : listed_) {
    doorbells->push_back(mqd->doorbell);
  }
  listed_doorbells_ = std::move(doorbells);
  fill_slots();
  activity();
  kicks_.fetch_add(1, std::memory_order_relaxed);
  wake_worker();
}

std::optional<u32> Gpu::Impl::free_slot(bool sdma) const {
  const std::vector<MqdPtr>& slots = sdma ? sdma_slots_ : hqds_;
  const auto it = std::find(slots.begin(), slots.end(), nullptr);
  return it == slots.end() ? std::nullopt : std::optional(static_cast<u32>(it - slots.begin()));
}

// The hardware VMID a process has, or could get.
std::optional<u32> Gpu::Impl::vmid_index(const Vmid& vmid) const {
  for (const Vmid* wanted : {&vmid, static_cast<const Vmid*>(nullptr)}) {
    const auto it = std::find(vmids_.begin(), vmids_.end(), wanted);
    if (it != vmids_.end()) {
      return static_cast<u32>(it - vmids_.begin());
    }
  }
  return std::nullopt;
}

// Gives free slots to waiting queues: first those with work. While queues are leaving only those,
// and none of a process that gives up its VMID: the slots are meant for others.
void Gpu::Impl::fill_slots() {
  for (const bool with_work : {true, false}) {
    if (!with_work && leaving_ != 0) {
      return;
    }
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      QueueExecution& queue = *(*it)->execution;
      const auto slot = free_slot(queue.is_sdma());
      const Vmid& vmid = *(*it)->vmid;
      if (slot && vmid_index(vmid) && !leaving_processes_.contains(&vmid) &&
          has_work(queue) == with_work) {
        const MqdPtr mqd = std::move(*it);
        it = waiting_.erase(it);
        map_queue(mqd, *slot);
      } else {
        ++it;
      }
    }
  }
}

// MAP_QUEUES. Work submitted while the queue had no slot is found by reading the write pointer; the
// doorbell is looked at first, so that a ring in between is not lost.
void Gpu::Impl::map_queue(const MqdPtr& mqd, u32 slot) {
  QueueExecution& queue = *mqd->execution;
  const QueueProperties& properties = mqd->properties;
  (queue.is_sdma() ? sdma_slots_ : hqds_)[slot] = mqd;
  vmids_[*vmid_index(*mqd->vmid)] = mqd->vmid.get();
  mapped_.push_back(&queue);
  queue.mapped = true;
  queue.leaving = queue.draining = false;
  queue.slot = slot;
  queue.mapped_at = ++map_sequence_;
  queue.cus = occupancy_.cus_of_mask(properties.cu_mask);
  if (queue.stall == Stall::barrier) {
    queue.stall = Stall::none;
  }
  queue.last_ring = mqd->doorbell.page->slot(mqd->doorbell.slot).load(std::memory_order_acquire);
  bool ok = true;
  if (!queue.started) {
    queue.started = true;
    queue.read = read_pointer(queue, properties.rptr_addr, ok);
  }
  const u64 write = read_pointer(queue, properties.wptr_addr, ok);
  if (!ok) {
    memory_fault(queue, properties.wptr_addr, false);
    return;
  }
  // A queue without a ring cannot have packets, whatever its write pointer says.
  queue.write = properties.ring_size == 0 ? queue.next() : std::max(write, queue.next());
  queue.runs_from_ns = restore_time(queue);
}

void Gpu::Impl::release_slot(QueueExecution& queue) {
  (queue.is_sdma() ? sdma_slots_ : hqds_)[queue.slot] = nullptr;
  std::erase(mapped_, &queue);
  queue.mapped = queue.leaving = queue.draining = false;
  queue.waited_since = ++map_sequence_;
  const Vmid* vmid = queue.mqd->vmid.get();
  const bool used = std::any_of(mapped_.begin(), mapped_.end(), [&](const QueueExecution* other) {
    return other->mqd->vmid.get() == vmid;
  });
  if (!used) {
    std::replace(vmids_.begin(), vmids_.end(), vmid, static_cast<const Vmid*>(nullptr));
    leaving_processes_.erase(vmid);
  }
}

// Whether a queue without a slot has something to do.
bool Gpu::Impl::has_work(const QueueExecution& queue) const {
  if (queue.stopped) {
    return false;
  }
  if (!queue.groups.empty() || !queue.in_flight.empty()) {
    return true;
  }
  bool ok = true;
  const QueueProperties& properties = queue.mqd->properties;
  const u64 write = read_pointer(queue, properties.wptr_addr, ok);
  const u64 read = queue.started ? queue.next() : read_pointer(queue, properties.rptr_addr, ok);
  return !ok || write > read;  // not readable: mapping it reports the fault
}

void Gpu::Impl::rotate_if_due() {
  if (waiting_.empty() || leaving_ != 0) {
    return;
  }
  if (quantum_used_ < config_.quantum_instructions) {
    const u64 now = now_ns();
    const bool busy = std::any_of(mapped_.begin(), mapped_.end(), [&](QueueExecution* queue) {
      return queue->running != 0 || runnable(*queue, now) || wants_launch(*queue);
    });
    if (busy) {
      return;
    }
  }
  quantum_used_ = 0;
  choose_victims();
}

// Marks queues that give up their slots, as many as are needed for the waiting ones with work.
void Gpu::Impl::choose_victims() {
  const auto free_count = [](const std::vector<MqdPtr>& slots) {
    return static_cast<u32>(std::count(slots.begin(), slots.end(), nullptr));
  };
  u32 free[2] = {free_count(hqds_), free_count(sdma_slots_)};
  std::set<const Vmid*> processes;
  for (const QueueExecution* queue : mapped_) {
    processes.insert(queue->mqd->vmid.get());
  }
  std::set<const Vmid*> coming;
  for (const MqdPtr& mqd : waiting_) {
    const QueueExecution& wanted = *mqd->execution;
    if (!has_work(wanted)) {
      continue;
    }
    const Vmid* vmid = mqd->vmid.get();
    if (!processes.contains(vmid) && processes.size() >= vmids_.size()) {
      const Vmid* victim = longest_mapped_process(coming);
      if (!victim) {
        continue;
      }
      for (QueueExecution* queue : mapped_) {
        if (queue->mqd->vmid.get() == victim && !queue->leaving) {
          leave(*queue);
          ++free[queue->is_sdma()];
        }
      }
      processes.erase(victim);
      leaving_processes_.insert(victim);
    }
    if (free[wanted.is_sdma()] == 0) {
      QueueExecution* victim = best_victim(wanted.is_sdma());
      if (!victim) {
        continue;
      }
      leave(*victim);
      ++free[wanted.is_sdma()];
    }
    --free[wanted.is_sdma()];
    processes.insert(vmid);
    coming.insert(vmid);
  }
}

void Gpu::Impl::leave(QueueExecution& queue) {
  queue.leaving = true;
  ++leaving_;
}

QueueExecution* Gpu::Impl::best_victim(bool sdma) const {
  QueueExecution* best = nullptr;
  const auto rank = [](const QueueExecution* queue) {
    return std::pair(!has_nothing(*queue), queue->mapped_at);
  };
  for (QueueExecution* queue : mapped_) {
    if (queue->is_sdma() == sdma && !queue->leaving && (!best || rank(queue) < rank(best))) {
      best = queue;
    }
  }
  return best;
}

const Vmid* Gpu::Impl::longest_mapped_process(const std::set<const Vmid*>& except) const {
  const QueueExecution* oldest = nullptr;
  for (const QueueExecution* queue : mapped_) {
    if (!queue->leaving && !except.contains(queue->mqd->vmid.get()) &&
        (!oldest || queue->mapped_at < oldest->mapped_at)) {
      oldest = queue;
    }
  }
  return oldest ? oldest->mqd->vmid.get() : nullptr;
}

// Goes on with queues that are leaving: those whose waves have stopped are saved, those with
// nothing resident give their slot away.
Task Gpu::Impl::pick_leaving() {
  if (leaving_ == 0) {
    return {};
  }
  for (size_t i = 0; i < mapped_.size();) {
    QueueExecution& queue = *mapped_[i];
    if (!queue.leaving || queue.running != 0 || (queue.draining && !queue.ready.empty())) {
      ++i;
      continue;
    }
    if (!queue.ready.empty()) {
      Task task;
      task.kind = Task::Kind::save_queue;
      task.queue = &queue;
      return task;
    }
    const MqdPtr mqd = shared(queue);
    if (--leaving_ == 0) {
      quantum_used_ = 0;  // the time slice of those that come begins now
    }
    release_slot(queue);
    waiting_.push_back(mqd);
    fill_slots();
    advance_queues();
    i = 0;
  }
  return {};
}

void Gpu::Impl::finish_leaving(QueueExecution& queue) {
  // A queue whose waves cannot be saved keeps the slot until they have ended.
  queue.draining = !commit_saved(queue);
}

}  // namespace vgpu::device
