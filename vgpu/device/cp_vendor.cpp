// Vendor-specific AQL packets: an indirect buffer of PM4, and waiting for a signal's value.
#include <vector>

#include "abi/pm4.h"
#include "device/guest_memory.h"
#include "device/impl.h"

namespace vgpu::device {
namespace {

bool satisfied(const abi::BarrierValuePacket& packet, i64 value) {
  value &= packet.mask;
  switch (packet.condition) {
    case abi::cond_eq: return value == packet.value;
    case abi::cond_ne: return value != packet.value;
    case abi::cond_lt: return value < packet.value;
    case abi::cond_gte: return value >= packet.value;
    default: return false;
  }
}

}  // namespace

bool Gpu::Impl::take_vendor(QueueExecution& queue, std::unique_ptr<Packet> packet) {
  const u32 format = packet->aql.word.second & 0xff;
  if (format == abi::vendor_barrier_value) {
    return take_barrier_value(queue, std::move(packet));
  }
  if (format != abi::vendor_pm4_ib || !run_pm4_ib(queue, packet->aql.pm4)) {
    if (!queue.stopped) {
      log_error("cp: vendor packet format {} cannot be run, pasid {}", format,
                queue.mqd->vmid->pasid);
      queue_failed(queue, QueueError::bad_packet, abi::inactive_invalid_vendor_packet);
    }
    return false;
  }
  complete_at_once(queue, std::move(packet));
  return true;
}

// The runtime sends one after each upload of code: an ACQUIRE_MEM that invalidates the instruction
// cache. False if there is anything in it that is not known.
bool Gpu::Impl::run_pm4_ib(QueueExecution& queue, const abi::Pm4IbPacket& packet) {
  Vmid& vmid = *queue.mqd->vmid;
  const u32* jump = packet.ib_jump;
  if (abi::pm4_type(jump[0]) != 3 || abi::pm4_opcode(jump[0]) != abi::pm4_indirect_buffer) {
    log_error("cp: PM4 header {:#x} in a vendor packet is not an indirect buffer", jump[0]);
    return false;
  }
  const u64 va = (u64{jump[2] & 0xffff} << 32) | (jump[1] & ~3u);
  std::vector<u32> ib(jump[3] & abi::kPm4IbSizeMask);
  if (!vmid.memory.read(va, ib.data(), ib.size() * sizeof(u32))) {
    memory_fault(queue, va, false);
    return false;
  }
  for (size_t at = 0; at < ib.size(); at += abi::pm4_dwords(ib[at])) {
    const u32 opcode = abi::pm4_opcode(ib[at]);
    if (abi::pm4_type(ib[at]) != 3 || at + abi::pm4_dwords(ib[at]) > ib.size() ||
        (opcode != abi::pm4_nop && opcode != abi::pm4_acquire_mem)) {
      log_error("cp: PM4 header {:#x} in an indirect buffer cannot be run", ib[at]);
      return false;
    }
    if (opcode == abi::pm4_acquire_mem) {
      vmid.code.invalidate();
    }
  }
  return true;
}

bool Gpu::Impl::take_barrier_value(QueueExecution& queue, std::unique_ptr<Packet> packet) {
  const abi::BarrierValuePacket& barrier = packet->aql.barrier_value;
  if (barrier.condition > abi::cond_gte) {
    log_error("cp: barrier-value condition {} is unknown, pasid {}", barrier.condition,
              queue.mqd->vmid->pasid);
    queue_failed(queue, QueueError::bad_packet, abi::inactive_invalid_vendor_packet);
    return false;
  }
  if (barrier.signal != 0) {
    const std::optional<i64> value = signal_value(queue, barrier.signal);
    if (!value) {
      return false;
    }
    if (!satisfied(barrier, *value)) {
      queue.stall = Stall::dependency;
      return false;
    }
  }
  complete_at_once(queue, std::move(packet));
  return true;
}

}  // namespace vgpu::device
