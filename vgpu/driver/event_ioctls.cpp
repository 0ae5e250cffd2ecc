// The event ioctls (kfd_chardev.c:826-900); the events themselves are in events.cpp.
#include <cerrno>

#include "driver/handlers.h"
#include "driver/memory/memory.h"

namespace vgpu::driver {
namespace {

// On a discrete GPU the runtime allocates the event page and passes its handle once.
int set_event_page(Process& process, u64 handle) {
  const std::lock_guard lock(process.mutex);
  if (process.events.has_page() || !process.find_bound_device(handle_gpu_id(handle))) {
    return -EINVAL;
  }
  const Allocation* allocation = find_allocation(process, handle);
  if (!allocation) {
    return -EINVAL;
  }
  if (const int error = process.events.set_page(allocation->buffer)) {
    return error;
  }
  process.event_page_handle = handle;
  return 0;
}

}  // namespace

int create_event(Call& call, abi::CreateEventArgs& args) {
  if (args.event_page_offset) {
    if (const int error = set_event_page(call.process, args.event_page_offset)) {
      return error;
    }
  }
  return call.process.events.create(args);
}

int destroy_event(Call& call, abi::EventIdArgs& args) {
  return call.process.events.destroy(args.event_id);
}

int set_event(Call& call, abi::EventIdArgs& args) { return call.process.events.set(args.event_id); }

int reset_event(Call& call, abi::EventIdArgs& args) {
  return call.process.events.reset(args.event_id);
}

int wait_events(Call& call, abi::WaitEventsArgs& args) {
  constexpr u32 kMaxEvents = 1u << 16;  // more could not exist; the kernel's kcalloc gives up too
  args.wait_result = abi::wait_fail;
  if (args.num_events > kMaxEvents) {
    return -ENOMEM;
  }
  std::vector<abi::EventData> data(args.num_events);
  const u64 bytes = data.size() * sizeof(abi::EventData);
  if (bytes && !call.caller.memory->read(args.events_ptr, data.data(), bytes)) {
    return -EFAULT;
  }
  const int error =
      call.process.events.wait(data, args.wait_for_all != 0, args.timeout, &args.wait_result);
  if (error == 0 && args.wait_result == abi::wait_complete && bytes &&
      !call.caller.memory->write(args.events_ptr, data.data(), bytes)) {
    args.wait_result = abi::wait_fail;
    return -EFAULT;
  }
  return error;
}

}  // namespace vgpu::driver
