#include "kfd/preempt_calls.h"

#include "kfd/request.h"

namespace gp::kfd {
namespace {

int batch_call(const Channel& channel, u32 nr, int lease, std::span<abi::PreemptEntry> entries,
               u32 type, const PreemptMode& mode) {
  abi::BatchQueuesArgs args = {};
  args.entries_ptr = address_of(entries.data());
  args.num_entries = static_cast<u32>(entries.size());
  args.entry_size = sizeof(abi::PreemptEntry);
  args.lease_fd = static_cast<u32>(lease);
  args.type = type;
  args.grace_period = mode.grace_1k_clocks;
  args.timeout_ms = mode.timeout_ms;
  return call(channel, kBoth, nr, args);
}

}  // namespace

int get_preempt_caps(const Channel& channel, u32 gpu_id, abi::PreemptCapsArgs& caps) {
  caps = {};
  caps.gpu_id = gpu_id;
  return call(channel, kBoth, abi::kfd_get_preempt_caps, caps);
}

int create_preempt_lease(const Channel& channel, u32 timeout_ms) {
  abi::PreemptLeaseArgs args = {};
  args.op = abi::preempt_lease_create;
  args.timeout_ms = timeout_ms;
  const int result = call(channel, kBoth, abi::kfd_preempt_lease, args);
  return result < 0 ? result : static_cast<int>(args.lease_fd);
}

int renew_preempt_lease(const Channel& channel, int lease, u32 timeout_ms) {
  abi::PreemptLeaseArgs args = {};
  args.op = abi::preempt_lease_renew;
  args.lease_fd = static_cast<u32>(lease);
  args.timeout_ms = timeout_ms;
  return call(channel, kBoth, abi::kfd_preempt_lease, args);
}

int batch_unmap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries,
                       const PreemptMode& mode) {
  return batch_call(channel, abi::kfd_batch_unmap_queues, lease, entries, abi::preempt_save, mode);
}

int fast_remap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries) {
  return batch_call(channel, abi::kfd_fast_remap, lease, entries, 0, {});
}

int name_low_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries) {
  return batch_call(channel, abi::kfd_batch_unmap_queues, lease, entries, abi::preempt_low, {});
}

int unname_low_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> entries) {
  return batch_call(channel, abi::kfd_fast_remap, lease, entries, abi::preempt_low, {});
}

int swap_queues(const Channel& channel, int lease, std::span<abi::PreemptEntry> stop,
                std::span<abi::PreemptEntry> start, const PreemptMode& mode) {
  abi::SwapQueuesArgs args = {};
  args.preempt_ptr = address_of(stop.data());
  args.resume_ptr = address_of(start.data());
  args.num_preempt = static_cast<u32>(stop.size());
  args.num_resume = static_cast<u32>(start.size());
  args.entry_size = sizeof(abi::PreemptEntry);
  args.lease_fd = static_cast<u32>(lease);
  args.type = abi::preempt_save;
  args.grace_period = mode.grace_1k_clocks;
  args.timeout_ms = mode.timeout_ms;
  return call(channel, kBoth, abi::kfd_swap_queues, args);
}

int get_queue_status(const Channel& channel, u32 gpu_id, abi::QueueStatusArgs& status) {
  status = {};
  status.gpu_id = gpu_id;
  status.entry_size = sizeof(abi::QueueStatus);
  return call(channel, kBoth, abi::kfd_get_queue_status, status);
}

int set_slot_reservation(const Channel& channel, int lease, const SlotReservation& reservation) {
  abi::SlotReservationArgs args = {};
  args.lease_fd = static_cast<u32>(lease);
  args.gpu_id = reservation.gpu_id;
  args.reserved_slots = reservation.slots;
  args.rotate_ms = reservation.rotate_ms;
  return call(channel, kPassIn, abi::kfd_set_slot_reservation, args);
}

}  // namespace gp::kfd
