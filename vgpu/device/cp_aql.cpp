// The packet processor of an AQL queue.
//
// Packets are taken in order. A dispatch is handed out group by group (scheduler.cpp); the next
// packet is looked at when the last group is out, or, if it has the barrier bit, when everything
// before it is complete. Packets are retired in order too: a slot's header becomes INVALID and
// read_dispatch_id moves on only when the packet and all before it are complete, because kernels
// read their own packet through dispatch_ptr while they run.
#include <cstring>

#include "device/dispatch.h"
#include "device/guest_memory.h"
#include "device/impl.h"

namespace vgpu::device {

void Gpu::Impl::advance(QueueExecution& queue) {
  while (!queue.stopped && !queue.leaving && !queue.launching) {
    if ((queue.stall == Stall::scratch || queue.stall == Stall::scratch_reclaim) &&
        !scratch_resolved(queue)) {
      return;
    }
    queue.stall = Stall::none;
    if (queue.next() >= queue.write || queue.in_flight.size() >= queue.packet_slots() ||
        !take_packet(queue)) {
      return;
    }
    activity();
  }
}

// False if the packet has to wait (queue.stall) or is bad.
bool Gpu::Impl::take_packet(QueueExecution& queue) {
  const QueueProperties& properties = queue.mqd->properties;
  if (properties.type == QueueType::compute_pm4) {
    log_error("cp: queues of PM4 packets cannot be run, pasid {}", queue.mqd->vmid->pasid);
    queue_failed(queue, QueueError::bad_packet, abi::inactive_invalid_packet);
    return false;
  }
  const PageTable& memory = queue.mqd->vmid->memory;
  const u64 va = properties.ring_base + queue.next() % queue.packet_slots() * u64{abi::kPacketSize};
  const auto* header = guest_word<u16>(memory, va);
  if (!header) {
    memory_fault(queue, va, false);
    return false;
  }
  // Pairs with the release store of the header by the producer: the rest of the packet is there.
  const u16 first = load_acquire(header);
  if ((first & abi::kHeaderTypeMask) == abi::packet_invalid) {
    queue.stall = Stall::invalid_header;
    return false;
  }
  // Single-use scratch memory goes back to the runtime before the next packet.
  const bool exclusive = first & abi::kHeaderBarrierBit ||
                         (!queue.in_flight.empty() && queue.in_flight.back()->scratch.once);
  if (exclusive && !queue.in_flight.empty()) {
    queue.stall = Stall::barrier;
    return false;
  }
  auto packet = std::make_unique<Packet>();
  packet->index = queue.next();
  std::memcpy(&packet->aql, header, sizeof(packet->aql));  // a slot does not cross pages
  switch (first & abi::kHeaderTypeMask) {
    case abi::packet_kernel_dispatch: return take_dispatch(queue, std::move(packet));
    case abi::packet_barrier_and: return take_barrier(queue, std::move(packet), true);
    case abi::packet_barrier_or: return take_barrier(queue, std::move(packet), false);
    case abi::packet_vendor_specific: return take_vendor(queue, std::move(packet));
    default:
      log_error("cp: AQL packet type {} cannot be run, pasid {}", first & abi::kHeaderTypeMask,
                queue.mqd->vmid->pasid);
      queue_failed(queue, QueueError::bad_packet, abi::inactive_invalid_packet);
      return false;
  }
}

bool Gpu::Impl::take_dispatch(QueueExecution& queue, std::unique_ptr<Packet> packet) {
  const abi::DispatchPacket& dispatch = packet->aql.dispatch;
  const auto fail = [&](u64 code, const char* what) {
    log_error("cp: dispatch of kernel {:#x}: {}, pasid {}", dispatch.kernel_object, what,
              queue.mqd->vmid->pasid);
    queue_failed(queue, QueueError::bad_packet, code);
    return false;
  };
  packet->is_dispatch = true;
  packet->group_count = 1;
  u64 items = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (dispatch.workgroup_size[axis] == 0 || dispatch.grid_size[axis] == 0) {
      return fail(abi::inactive_invalid_dim, "a dimension is 0");
    }
    items *= dispatch.workgroup_size[axis];
    packet->groups[axis] = (dispatch.grid_size[axis] - 1) / dispatch.workgroup_size[axis] + 1;
    if (__builtin_mul_overflow(packet->group_count, packet->groups[axis], &packet->group_count)) {
      return fail(abi::inactive_invalid_dim, "more work-groups than can be counted");
    }
  }
  if (items > kMaxGroupItems) {
    return fail(abi::inactive_group_too_large, "more than 1024 work-items in a group");
  }
  if (dispatch.group_segment_size > config_.lds_per_cu) {
    return fail(abi::inactive_invalid_group_memory, "more LDS than a CU has");
  }
  const auto kernel = read_kernel(*queue.mqd->vmid, dispatch.kernel_object);
  if (!kernel) {
    return fail(abi::inactive_invalid_code, "the kernel descriptor is not mapped");
  }
  packet->kernel = *kernel;
  packet->footprint =
      footprint_of(*kernel, static_cast<u32>((items + 63) / 64), dispatch.group_segment_size);
  if (!occupancy_.fits_empty_cu(packet->footprint)) {
    return fail(abi::inactive_out_of_vgprs, "the group does not fit on a CU");
  }
  if (!resolve_scratch(queue, *packet)) {
    return false;
  }
  ++stats_.dispatches;
  queue.launching = packet.get();
  queue.in_flight.push_back(std::move(packet));
  return true;
}

// Gives the dispatch the queue's scratch memory. If that does not suffice, the CP stores
// insufficient-scratch into queue_inactive_signal and waits until the runtime, having grown it, has
// stored 0. The runtime looks at the packet at read_dispatch_id and frees the old memory, so all
// earlier packets must be complete (amd_aql_queue.cpp, DynamicScratchHandler).
bool Gpu::Impl::resolve_scratch(QueueExecution& queue, Packet& packet) {
  const u32 wanted = packet.aql.dispatch.private_segment_size;
  if (wanted == 0) {
    return true;
  }
  abi::AmdQueue amd;
  if (!queue.mqd->vmid->memory.read(queue.amd_queue(), &amd, sizeof(amd))) {
    memory_fault(queue, queue.amd_queue(), false);
    return false;
  }
  // COMPUTE_TMPRING_SIZE: WAVES 11:0, WAVESIZE 24:12 in KiB.
  const u32 waves = amd.compute_tmpring_size & 0xfff;
  const u32 wave_bytes = (amd.compute_tmpring_size >> 12 & 0x1fff) * 1024;
  if (wanted > amd.scratch_wave64_lane_byte_size || waves < packet.footprint.waves) {
    if (!queue.in_flight.empty()) {
      queue.stall = Stall::barrier;
      return false;
    }
    queue.stall = Stall::scratch;
    raise_inactive(queue, abi::inactive_scratch_wave64);
    return false;
  }
  std::memcpy(packet.scratch.descriptor, amd.scratch_resource_descriptor,
              sizeof(packet.scratch.descriptor));
  packet.scratch.base = amd.scratch_backing_memory_location;
  packet.scratch.wave_bytes = wave_bytes;
  packet.scratch.waves = waves;
  packet.scratch.once = amd.queue_properties & abi::queue_use_scratch_once;
  return true;
}

// Whether the runtime has answered the last request about scratch.
bool Gpu::Impl::scratch_resolved(QueueExecution& queue) {
  const u64 signal = inactive_signal(queue);
  const std::optional<i64> value = signal ? signal_value(queue, signal) : i64{0};
  if (!value || *value != 0) {
    return false;
  }
  if (queue.stall == Stall::scratch) {
    return true;
  }
  const auto* properties = guest_word<u32>(
      queue.mqd->vmid->memory, queue.amd_queue() + offsetof(abi::AmdQueue, queue_properties));
  return properties && !(load_acquire(properties) & abi::queue_use_scratch_once);
}

bool Gpu::Impl::take_barrier(QueueExecution& queue, std::unique_ptr<Packet> packet, bool all) {
  bool any_dependency = false;
  bool one_satisfied = false;
  bool all_satisfied = true;
  for (const u64 signal : packet->aql.barrier.dep_signal) {
    if (signal == 0) {
      continue;
    }
    const std::optional<i64> value = signal_value(queue, signal);
    if (!value) {
      return false;
    }
    any_dependency = true;
    one_satisfied |= *value == 0;
    all_satisfied &= *value == 0;
  }
  if (any_dependency && !(all ? all_satisfied : one_satisfied)) {
    queue.stall = Stall::dependency;
    return false;
  }
  complete_at_once(queue, std::move(packet));
  return true;
}

// A packet that does nothing on the CUs.
void Gpu::Impl::complete_at_once(QueueExecution& queue, std::unique_ptr<Packet> packet) {
  packet->start_ts = gpu_clock();
  Packet& taken = *packet;
  queue.in_flight.push_back(std::move(packet));
  complete_packet(queue, taken);
}

void Gpu::Impl::complete_packet(QueueExecution& queue, Packet& packet) {
  packet.complete = true;
  const bool reclaim = packet.is_dispatch && packet.scratch.once;
  if (packet.signal() != 0) {
    complete_signal(queue, packet.signal(), packet.start_ts, gpu_clock());
  }
  retire(queue);
  if (reclaim && !queue.stopped) {
    queue.stall = Stall::scratch_reclaim;
    raise_inactive(queue, abi::inactive_scratch_reclaim);
  }
  recheck_stalls_ = true;
  activity();
}

void Gpu::Impl::retire(QueueExecution& queue) {
  const QueueProperties& properties = queue.mqd->properties;
  const PageTable& memory = queue.mqd->vmid->memory;
  const u64 before = queue.read;
  while (!queue.in_flight.empty() && queue.in_flight.front()->complete) {
    const u64 va = properties.ring_base + queue.read % queue.packet_slots() * abi::kPacketSize;
    auto* header = guest_word<u16>(memory, va, page_write);
    if (!header) {
      memory_fault(queue, va, true);
      return;
    }
    store_release<u16>(header, abi::packet_invalid);
    queue.in_flight.pop_front();
    ++queue.read;
  }
  if (queue.read == before) {
    return;
  }
  auto* read_index = guest_word<u64>(memory, properties.rptr_addr, page_write);
  if (!read_index) {
    memory_fault(queue, properties.rptr_addr, true);
    return;
  }
  // Pairs with the acquire load of a producer that waits for room in the ring.
  store_release(read_index, queue.read);
}

}  // namespace vgpu::device
