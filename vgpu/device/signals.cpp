// amd_signal_t as the CP uses it: dependencies, completion, and the queue's error signal.
#include "device/guest_memory.h"
#include "device/impl.h"

namespace vgpu::device {
namespace {

constexpr u64 field(u64 signal, size_t offset) { return signal + offset; }

}  // namespace

std::optional<i64> Gpu::Impl::signal_value(QueueExecution& queue, u64 signal) {
  const u64 va = field(signal, offsetof(abi::AmdSignal, value));
  const auto* value = guest_word<i64>(queue.mqd->vmid->memory, va);
  if (!value) {
    memory_fault(queue, va, false);
    return std::nullopt;
  }
  return load_acquire(value);
}

// Time stamps, then the value, then the mailbox and the interrupt, so that whoever sees one of them
// sees what comes before it.
void Gpu::Impl::complete_signal(QueueExecution& queue, u64 signal, u64 start_ts, u64 end_ts) {
  const PageTable& memory = queue.mqd->vmid->memory;
  auto* start =
      guest_word<u64>(memory, field(signal, offsetof(abi::AmdSignal, start_ts)), page_write);
  auto* end = guest_word<u64>(memory, field(signal, offsetof(abi::AmdSignal, end_ts)), page_write);
  auto* value = guest_word<i64>(memory, field(signal, offsetof(abi::AmdSignal, value)), page_write);
  if (!start || !end || !value) {
    memory_fault(queue, signal, true);
    return;
  }
  store_release(start, start_ts);
  store_release(end, end_ts);
  __atomic_fetch_sub(value, 1, __ATOMIC_ACQ_REL);
  notify_signal(queue, signal);
}

// Wakes whoever sleeps on the signal: its event id goes into the mailbox, then the interrupt.
void Gpu::Impl::notify_signal(QueueExecution& queue, u64 signal) {
  const PageTable& memory = queue.mqd->vmid->memory;
  const auto* mailbox =
      guest_word<u64>(memory, field(signal, offsetof(abi::AmdSignal, event_mailbox_ptr)));
  const auto* event_id = guest_word<u32>(memory, field(signal, offsetof(abi::AmdSignal, event_id)));
  if (!mailbox || !event_id) {
    memory_fault(queue, signal, false);
    return;
  }
  const u64 mailbox_va = load_acquire(mailbox);
  if (mailbox_va == 0) {
    return;
  }
  const u32 id = load_acquire(event_id);
  auto* box = guest_word<u32>(memory, mailbox_va, page_write);
  if (!box) {
    memory_fault(queue, mailbox_va, true);
    return;
  }
  store_release(box, id);
  post_event(queue, id);
}

void Gpu::Impl::post_event(QueueExecution& queue, u32 event_id) {
  HostCall call;
  call.kind = HostCall::Kind::event;
  call.pasid = queue.mqd->vmid->pasid;
  call.event_id = event_id;
  outbox_.push_back(std::move(call));
}

// amd_queue_t.queue_inactive_signal; 0 if there is none.
u64 Gpu::Impl::inactive_signal(const QueueExecution& queue) const {
  u64 signal = 0;
  const u64 va = queue.amd_queue() + offsetof(abi::AmdQueue, queue_inactive_signal);
  return queue.mqd->vmid->memory.read(va, &signal, sizeof(signal)) ? signal : 0;
}

// Stores an error code for the runtime. A code that is already there is not replaced but joined:
// the runtime's handler looks at bits.
void Gpu::Impl::raise_inactive(QueueExecution& queue, u64 code) {
  const u64 signal = inactive_signal(queue);
  if (signal == 0) {
    return;
  }
  const u64 va = field(signal, offsetof(abi::AmdSignal, value));
  auto* value = guest_word<u64>(queue.mqd->vmid->memory, va, page_write);
  if (!value) {
    memory_fault(queue, va, true);
    return;
  }
  __atomic_fetch_or(value, code, __ATOMIC_ACQ_REL);
  notify_signal(queue, signal);
}

}  // namespace vgpu::device
