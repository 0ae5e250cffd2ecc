#include "driver/events.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>

namespace vgpu::driver {
namespace {

constexpr u64 kUnsignaledSlot = ~u64{0};       // UNSIGNALED_EVENT_SLOT
constexpr u32 kSlotsWithoutPage = 256;         // "oldest user mode expects 256 event slots"
constexpr u32 kFirstNonSignalId = 0x40000000;  // KFD_FIRST_NONSIGNAL_EVENT_ID
constexpr u32 kLastNonSignalId = 0x7fffffff;
constexpr u64 kMmapTypeEvents = u64{2} << 62;  // KFD_MMAP_TYPE_EVENTS

bool has_slot(u32 type) { return type == abi::event_signal || type == abi::event_debug; }

// Slots are shared with the client and, as mailboxes, with the GPU.
std::atomic_ref<u64> atomic_slot(u64* slot) { return std::atomic_ref<u64>(*slot); }

}  // namespace

int Events::set_page(BufferPtr page) {
  const std::lock_guard lock(mutex_);
  if (page_) {
    return -EBUSY;
  }
  if (page->size < abi::kSignalEventLimit * sizeof(u64)) {
    return -EINVAL;
  }
  page_ = std::move(page);
  for (u32 id = 0; id < abi::kSignalEventLimit; ++id) {
    atomic_slot(slot(id)).store(kUnsignaledSlot, std::memory_order_relaxed);
  }
  return 0;
}

bool Events::has_page() const {
  const std::lock_guard lock(mutex_);
  return page_ != nullptr;
}

u64* Events::slot(u32 id) const { return reinterpret_cast<u64*>(page_->host) + id; }

Events::Event* Events::find(u32 id) {
  const auto found = events_.find(id);
  return found == events_.end() ? nullptr : &found->second;
}

// The lowest id in [from, end) that is not in use; end if there is none.
u32 Events::free_id(u32 from, u32 end) const {
  u32 id = from;
  for (auto it = events_.lower_bound(from); it != events_.end() && it->first == id; ++it) {
    ++id;
  }
  return std::min(id, end);
}

int Events::create(abi::CreateEventArgs& args) {
  const std::lock_guard lock(mutex_);
  if (closed_) {
    return closed_;
  }
  const bool signal = has_slot(args.event_type);
  args.event_page_offset = 0;
  u32 id;
  if (signal) {
    const u32 limit = page_ ? abi::kSignalEventLimit : kSlotsWithoutPage;
    id = free_id(1, limit);
    if (id == limit) {
      return -ENOSPC;
    }
    if (page_) {
      atomic_slot(slot(id)).store(kUnsignaledSlot, std::memory_order_relaxed);
    }
    args.event_page_offset = kMmapTypeEvents;
    args.event_slot_index = id;
  } else {
    id = free_id(kFirstNonSignalId, kLastNonSignalId);
    if (id == kLastNonSignalId) {
      return -ENOSPC;
    }
  }
  Event& event = events_[id];
  event.id = id;
  event.type = args.event_type;
  event.auto_reset = args.auto_reset != 0;
  args.event_id = args.event_trigger_data = id;
  return 0;
}

int Events::destroy(u32 id) {
  const std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event) {
    return -EINVAL;
  }
  // Whoever waits for it returns failure.
  for (Group* group : groups_) {
    for (Waiter& waiter : group->waiters) {
      if (waiter.event == event) {
        waiter.event = nullptr;
        waiter.queued = false;
      }
    }
    group->wake.notify_all();
  }
  events_.erase(id);
  return 0;
}

// set_event: an auto-reset event stays set only if nobody is there to take it.
void Events::fire(Event& event) {
  event.signaled = !event.auto_reset || event.waiters.empty();
  if (++event.age == 0) {
    event.age = 2;  // 0 and 1 are reserved
  }
  for (Waiter* waiter : event.waiters) {
    waiter->activated = true;
    waiter->queued = false;
    waiter->group->wake.notify_all();
  }
  event.waiters.clear();
}

int Events::set(u32 id) {
  const std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event || event->type != abi::event_signal) {
    return -EINVAL;
  }
  fire(*event);
  return 0;
}

int Events::reset(u32 id) {
  const std::lock_guard lock(mutex_);
  Event* event = find(id);
  if (!event || event->type != abi::event_signal) {
    return -EINVAL;
  }
  event->signaled = false;
  return 0;
}

u32 Events::count() const {
  const std::lock_guard lock(mutex_);
  return static_cast<u32>(events_.size());
}

void Events::fire_from_gpu(Event& event) {
  if (page_) {
    atomic_slot(slot(event.id)).store(kUnsignaledSlot, std::memory_order_relaxed);
  }
  fire(event);
}

void Events::signal_from_gpu(u32 id) {
  const std::lock_guard lock(mutex_);
  if (Event* event = find(id)) {
    if (has_slot(event->type)) {
      fire_from_gpu(*event);
    }
    return;
  }
  if (!page_) {
    return;
  }
  for (auto& [event_id, event] : events_) {
    if (event_id >= abi::kSignalEventLimit) {
      break;
    }
    if (atomic_slot(slot(event_id)).load(std::memory_order_acquire) != kUnsignaledSlot) {
      fire_from_gpu(event);
    }
  }
}

void Events::signal_memory_exception(const abi::MemoryExceptionData& data) {
  const std::lock_guard lock(mutex_);
  for (auto it = events_.lower_bound(kFirstNonSignalId); it != events_.end(); ++it) {
    if (it->second.type == abi::event_memory) {
      it->second.memory = data;
      fire(it->second);
    }
  }
}

void Events::signal_hw_exception(const abi::HwExceptionData& data) {
  const std::lock_guard lock(mutex_);
  for (auto it = events_.lower_bound(kFirstNonSignalId); it != events_.end(); ++it) {
    if (it->second.type == abi::event_hw_exception) {
      it->second.hw = data;
      fire(it->second);
    }
  }
}

void Events::close(int error) {
  const std::lock_guard lock(mutex_);
  if (!closed_) {
    closed_ = error;
  }
  for (Group* group : groups_) {
    group->wake.notify_all();
  }
}

int Events::start_waiting(std::span<const abi::EventData> data, Group& group) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    Event* event = find(data[i].event_id);
    if (!event) {
      return -EINVAL;
    }
    Waiter& waiter = group.waiters[i];
    waiter.event = event;
    waiter.group = &group;
    waiter.activated = event->signaled;
    event->signaled = event->signaled && !event->auto_reset;
    if (event->type == abi::event_signal && data[i].last_event_age != 0) {
      waiter.age_enabled = true;
      waiter.activated |= event->age != data[i].last_event_age;
    }
    if (!waiter.activated) {
      event->waiters.push_back(&waiter);
      waiter.queued = true;
    }
  }
  return 0;
}

u32 Events::condition(const Group& group, bool all) {
  std::size_t activated = 0;
  for (const Waiter& waiter : group.waiters) {
    if (!waiter.event) {
      return abi::wait_fail;
    }
    if (waiter.activated) {
      if (!all) {
        return abi::wait_complete;
      }
      ++activated;
    }
  }
  return activated == group.waiters.size() ? abi::wait_complete : abi::wait_timeout;
}

int Events::copy_out(std::span<abi::EventData> data, const Group& group) {
  for (std::size_t i = 0; i < data.size(); ++i) {
    const Waiter& waiter = group.waiters[i];
    if (!waiter.event) {
      return -EINVAL;
    }
    if (!waiter.activated) {
      continue;
    }
    if (waiter.event->type == abi::event_memory) {
      data[i].memory_exception_data = waiter.event->memory;
    } else if (waiter.event->type == abi::event_hw_exception) {
      data[i].hw_exception_data = waiter.event->hw;
    } else if (waiter.event->type == abi::event_signal && waiter.age_enabled) {
      data[i].last_event_age = waiter.event->age;
    }
  }
  return 0;
}

void Events::stop_waiting(Group& group) {
  for (Waiter& waiter : group.waiters) {
    if (waiter.event && waiter.queued) {
      waiter.event->waiters.remove(&waiter);
      waiter.queued = false;
    }
  }
}

int Events::wait(std::span<abi::EventData> data, bool all, u32 timeout_ms, u32* result) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + std::chrono::milliseconds(timeout_ms);
  Group group(data.size());

  std::unique_lock lock(mutex_);
  groups_.push_back(&group);
  int error = start_waiting(data, group);
  u32 state = abi::wait_timeout;
  while (error == 0) {
    state = condition(group, all);
    if (state != abi::wait_timeout || timeout_ms == abi::kEventTimeoutImmediate) {
      break;
    }
    if (closed_) {
      error = closed_;
    } else if (timeout_ms == abi::kEventTimeoutInfinite) {
      group.wake.wait(lock);
    } else if (group.wake.wait_until(lock, deadline) == std::cv_status::timeout) {
      state = condition(group, all);
      break;
    }
  }
  if (error == 0 && state == abi::wait_complete) {
    error = copy_out(data, group);
  }
  stop_waiting(group);
  groups_.remove(&group);

  *result = error ? u32{abi::wait_fail} : state;
  return error ? error : state == abi::wait_fail ? -EIO : 0;
}

}  // namespace vgpu::driver
