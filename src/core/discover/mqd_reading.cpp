#include "discover/mqd_reading.h"

#include "abi/kfd.h"
#include "abi/mqd.h"

namespace gp::discover {
namespace {

constexpr u32 kStrideDword = 226;  // cp_mqd_stride_size, gfx9.4.3 and later
constexpr u32 kComputeDwordsRead = kStrideDword + 1;
constexpr u32 kSdmaDwordsRead = abi::sdma_mqd_doorbell_offset + 1;
constexpr u32 kHighestPipePriority = 2;
constexpr u32 kHighestRingOrder = 32;  // of dwords; the field could say 64

u64 join(u32 low, u32 high) { return u64{high} << 32 | low; }

std::optional<u64> unless_zero(u64 value) {
  return value != 0 ? std::optional(value) : std::nullopt;
}

std::optional<u32> at_most(u32 value, u32 highest) {
  return value <= highest ? std::optional(value) : std::nullopt;
}

// A ring of 2^order dwords.
std::optional<u64> ring_bytes_of(u32 order) {
  return order <= kHighestRingOrder ? std::optional(sizeof(u32) * (u64{1} << order)) : std::nullopt;
}

}  // namespace

std::optional<u32> doorbell_of(u32 control) {
  const u32 doorbell = control >> 2 & 0x3ffffff;
  // The first doorbells of the BAR are the kernel's own: 0 is nobody's.
  return doorbell != 0 ? std::optional(doorbell) : std::nullopt;
}

MqdReading read_hqd_registers(std::span<const u32> registers) {
  const auto at = [&](u32 dword) { return registers[dword - abi::mqd_base_addr_lo]; };
  MqdReading reading;
  reading.mqd_address = unless_zero(join(at(abi::mqd_base_addr_lo), at(abi::mqd_base_addr_hi)));
  reading.priority = at_most(at(abi::mqd_hqd_queue_priority), abi::kMaxQueuePriority);
  reading.pipe_priority = at_most(at(abi::mqd_hqd_pipe_priority), kHighestPipePriority);
  reading.ring_base =
      unless_zero(join(at(abi::mqd_hqd_pq_base_lo), at(abi::mqd_hqd_pq_base_hi)) << 8);
  reading.ring_bytes = ring_bytes_of((at(abi::mqd_hqd_pq_control) & 0x3f) + 1);
  reading.read_index = at(abi::mqd_hqd_pq_rptr);
  reading.write_index = join(at(abi::mqd_hqd_pq_wptr_lo), at(abi::mqd_hqd_pq_wptr_hi));
  reading.doorbell = doorbell_of(at(abi::mqd_hqd_pq_doorbell_control));
  reading.read_index_address = unless_zero(
      join(at(abi::mqd_hqd_pq_rptr_report_addr_lo), at(abi::mqd_hqd_pq_rptr_report_addr_hi)));
  reading.write_index_address = unless_zero(
      join(at(abi::mqd_hqd_pq_wptr_poll_addr_lo), at(abi::mqd_hqd_pq_wptr_poll_addr_hi)));
  reading.aql = (at(abi::mqd_hqd_aql_control) & 1) != 0;  // CONTROL0: init_mqd, from v9 on
  return reading;
}

std::optional<MqdReading> read_compute_mqd(std::span<const u32> dwords) {
  if (dwords.size() < kComputeDwordsRead) {
    return std::nullopt;
  }
  MqdReading reading =
      read_hqd_registers(dwords.subspan(abi::mqd_base_addr_lo, abi::kHqdRegisters));
  // The save area holds the control stack first, then the waves up to wg_state_offset.
  const u32 stack = dwords[abi::mqd_hqd_cntl_stack_size];
  const u32 used = dwords[abi::mqd_hqd_wg_state_offset];
  if (used >= stack) {
    reading.saved_bytes = used - stack;
  }
  reading.xcc_stride = dwords[kStrideDword];
  return reading;
}

std::optional<MqdReading> read_sdma_mqd(std::span<const u32> dwords) {
  if (dwords.size() < kSdmaDwordsRead) {
    return std::nullopt;
  }
  MqdReading reading;
  const auto address = join(dwords[abi::sdma_mqd_rb_base], dwords[abi::sdma_mqd_rb_base_hi]) << 8;
  reading.ring_base = unless_zero(address);
  reading.ring_bytes = ring_bytes_of(dwords[abi::sdma_mqd_rb_cntl] >> 1 & 0x1f);
  // SDMA counts bytes (SDMA0_RLC0_RB_RPTR, the lowest two bits are zero).
  reading.read_index =
      join(dwords[abi::sdma_mqd_rb_rptr], dwords[abi::sdma_mqd_rb_rptr_hi]) / sizeof(u32);
  reading.write_index =
      join(dwords[abi::sdma_mqd_rb_wptr], dwords[abi::sdma_mqd_rb_wptr_hi]) / sizeof(u32);
  reading.doorbell = doorbell_of(dwords[abi::sdma_mqd_doorbell_offset]);
  return reading;
}

}  // namespace gp::discover
