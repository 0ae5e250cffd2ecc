// The events of one process (kfd_events.c): created and waited for by the runtime, set by it or by
// the GPU. Ids of signal events are small, start at 1 and index the event page; others start at
// 0x40000000.
//
// Its lock is a leaf: the GPU's workers take it to raise an event while other threads hold the
// process lock or that of a device queue manager.
#pragma once

#include <condition_variable>
#include <list>
#include <map>
#include <mutex>
#include <span>
#include <vector>

#include "driver/abi.h"
#include "driver/memory/memory_pool.h"

namespace vgpu::driver {

class Events {
 public:
  // kfd_event_page_set: from here on all 4096 signal slots can be used. 0, -EBUSY or -EINVAL.
  int set_page(BufferPtr page);
  bool has_page() const;

  // Fills in ids and slot. 0 or a negative errno.
  int create(abi::CreateEventArgs& args);
  int destroy(u32 id);
  int set(u32 id);  // from the CPU: signal events only
  int reset(u32 id);
  u32 count() const;

  // Waits for any or all of `data`; fills in what the kernel fills in of entries that fired.
  // timeout_ms and *result as in WAIT_EVENTS.
  int wait(std::span<abi::EventData> data, bool all, u32 timeout_ms, u32* result);

  // From the GPU. An id that names no event makes every event whose slot was written fire, as the
  // driver does for interrupts that carry no id.
  void signal_from_gpu(u32 id);
  void signal_memory_exception(const abi::MemoryExceptionData& data);
  void signal_hw_exception(const abi::HwExceptionData& data);

  // Blocked and later waits return `error`: the process is gone (-EINTR) or the driver (-ENODEV).
  void close(int error);

 private:
  struct Event;
  struct Group;
  struct Waiter {            // for one event of a call
    Event* event = nullptr;  // null once the event is destroyed
    Group* group = nullptr;
    bool activated = false;
    bool age_enabled = false;
    bool queued = false;  // in event->waiters
  };
  struct Group {  // one WAIT_EVENTS call
    explicit Group(std::size_t count) : waiters(count) {}
    std::vector<Waiter> waiters;
    std::condition_variable wake;
  };
  struct Event {
    u32 id = 0, type = 0;
    bool auto_reset = false, signaled = false;
    u64 age = 1;
    abi::MemoryExceptionData memory = {};
    abi::HwExceptionData hw = {};
    std::list<Waiter*> waiters;
  };

  u64* slot(u32 id) const;
  Event* find(u32 id);
  u32 free_id(u32 from, u32 end) const;
  static void fire(Event& event);
  void fire_from_gpu(Event& event);
  int start_waiting(std::span<const abi::EventData> data, Group& group);
  static u32 condition(const Group& group, bool all);
  static int copy_out(std::span<abi::EventData> data, const Group& group);
  static void stop_waiting(Group& group);

  mutable std::mutex mutex_;
  std::map<u32, Event> events_;
  std::list<Group*> groups_;
  BufferPtr page_;
  int closed_ = 0;
};

}  // namespace vgpu::driver
