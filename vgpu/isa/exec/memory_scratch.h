// Private memory. The hardware interleaves it by dwords over the 64 lanes of a wave: byte `offset`
// of a lane lies at
//
//     base + offset / 4 * 256 + lane * 4 + offset % 4
//
// Flat and scratch instructions take the base from FLAT_SCRATCH (gfx9: the address of the wave's
// scratch). Buffer instructions see the same bytes through the descriptor that ROCr makes
// (swizzle, element size 4, index stride 64, add thread id: AqlQueue::InitScratchSRD). An access
// wider than a dword is split into dwords, which lie 256 bytes apart.
#pragma once

#include "isa/exec/memory_atomic.h"

namespace vgpu::isa::VGPU_ENGINE {

inline u64 scratch_address(u64 base, u32 offset, u32 lane) {
  return base + u64{offset / 4} * (4 * kLanes) + lane * 4 + offset % 4;
}

inline u64 flat_scratch(const Wave& wave) {
  return wave.s[op_flat_scratch] | u64{wave.s[op_flat_scratch + 1]} << 32;
}

// The addresses of one dword, or part of one, per lane. The interleaved offset has 32 bits for up
// to 64 MiB of private memory per lane; an offset beyond that has an upper half, too.
struct ScratchLanes {
  LaneBuffer low, high;
  LaneAddresses at;  // points to these

  ScratchLanes(const ScratchLanes&) = delete;
  ScratchLanes& operator=(const ScratchLanes&) = delete;

  ScratchLanes(u64 base, const u32* offset, u32 more, u64 mask) : at{base, low.lane} {
    u32 all = 0;
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u32 byte = offset[lane] + more;
      low.lane[lane] = (byte & ~3u) * kLanes + lane * 4 + byte % 4;
      high.lane[lane] = byte >> 26;
      all |= high.lane[lane];
    }
    if (all != 0) {
      at = LaneAddresses::of_pairs(base, low.lane, high.lane, mask);
    }
  }
};

// Whether an access of `bytes` stays within a dword, or within whole dwords, in every lane.
inline bool within_dwords(const u32* offset, u32 bytes, u64 mask) {
  const u32 room = bytes < 4 ? 4 - bytes : 0;
  u64 within = 0;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    within |= u64{offset[lane] % 4 <= room} << lane;
  }
  return (mask & ~within) == 0;
}

// The bytes of one lane, wherever they lie. False after a fault.
[[gnu::cold]] inline bool copy_scratch_bytes(Wave& wave, const Inst& inst, u64 base, u32 offset,
                                             u32 lane, u8* bytes, u32 count, bool write) {
  for (u32 i = 0; i < count; ++i) {
    const u64 va = scratch_address(base, offset + i, lane);
    u8* host = wave.memory->translate(va, write ? u64{page_write} : 0);
    if (!host) {
      stop_fault(wave, inst, va, write);
      return false;
    }
    write ? write_host<u8>(host, bytes[i]) : write_host<u8>(bytes + i, *host);
  }
  return true;
}

// An offset that is the same for all lanes, as that of a variable on the stack: each dword is a row
// of 256 bytes. Returns the host address of the first row, or zero if this is not such an access.
template <class S>
u64 scratch_rows(const Wave& wave, u64 base, u32 offset, u64 need) {
  if constexpr (S::kBytes % 4 == 0) {
    const u64 va = base + u64{offset} * kLanes;
    u64 delta;
    if (offset % 4 == 0 &&
        one_translation(*wave.memory, va, va + S::kBytes * kLanes - 1, need, delta)) {
      return va + delta;
    }
  }
  return 0;
}

inline void load_row(u32* reg, const u8* from, u64 mask) {
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    const u32 active = static_cast<u32>(mask >> lane) & kFullGroup;
    const Lanes16 row = Lanes16::load(from + lane * 4);
    (active == kFullGroup ? row : row.or_else(active, Lanes16::load(reg + lane))).store(reg + lane);
  }
}

inline void store_row(const u32* reg, u8* to, u64 mask) {
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    const u32 active = static_cast<u32>(mask >> lane) & kFullGroup;
    const Lanes16 row = Lanes16::load(reg + lane);
    active == kFullGroup ? row.store(to + lane * 4) : row.store_masked(active, to + lane * 4);
  }
}

template <class S>
void load_scratch(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& to, u64 base,
                  const u32* offset, u64 mask) {
  if (mask == 0) {
    return;
  }
  if (uniform(offset, mask)) {
    if (const u64 rows = scratch_rows<S>(wave, base, offset[std::countr_zero(mask)], 0)) {
      for (u32 i = 0; i < S::kRegisters; ++i) {
        load_row(to.reg[i], host_pointer(rows + i * 4 * kLanes), mask);
      }
      return;
    }
  }
  if (within_dwords(offset, S::kBytes, mask)) {
    using Part = std::conditional_t<S::kRegisters == 1, S, Shape<u32>>;
    for (u32 i = 0; i < S::kRegisters && wave.stop == Stop::none; ++i) {
      const ScratchLanes lanes(base, offset, i * 4, mask);
      load_lanes<Part>(wave, inst, Registers<1>(to.reg[i]), lanes.at, mask);
    }
    return;
  }
  for (; mask; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    u8 bytes[S::kBytes];
    if (!copy_scratch_bytes(wave, inst, base, offset[lane], lane, bytes, S::kBytes, false)) {
      return;
    }
    S::load_lane(to, lane, bytes);
  }
}

template <class S>
void store_scratch(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& from, u64 base,
                   const u32* offset, u64 mask) {
  if (mask == 0) {
    return;
  }
  if (uniform(offset, mask)) {
    if (const u64 rows = scratch_rows<S>(wave, base, offset[std::countr_zero(mask)], page_write)) {
      for (u32 i = 0; i < S::kRegisters; ++i) {
        store_row(from.reg[i], host_pointer(rows + i * 4 * kLanes), mask);
      }
      return;
    }
  }
  if (within_dwords(offset, S::kBytes, mask)) {
    using Part = std::conditional_t<S::kRegisters == 1, S, Shape<u32>>;
    for (u32 i = 0; i < S::kRegisters && wave.stop == Stop::none; ++i) {
      const ScratchLanes lanes(base, offset, i * 4, mask);
      store_lanes<Part>(wave, inst, Registers<1>(from.reg[i]), lanes.at, mask);
    }
    return;
  }
  for (; mask; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    u8 bytes[S::kBytes];
    S::store_lane(from, lane, bytes);
    if (!copy_scratch_bytes(wave, inst, base, offset[lane], lane, bytes, S::kBytes, true)) {
      return;
    }
  }
}

// Only the lane itself reaches its private memory, so this needs no host atomic.
template <class Operation>
void atomic_scratch(Wave& wave, const Inst& inst, u64 base, const u32* offset, u64 mask) {
  using T = typename Operation::Value;
  const AtomicOperands<Operation> operands(wave, inst);
  for (; mask && wave.stop == Stop::none; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    T old;
    auto* bytes = reinterpret_cast<u8*>(&old);
    if (!copy_scratch_bytes(wave, inst, base, offset[lane], lane, bytes, sizeof(T), false)) {
      return;
    }
    operands.run(lane, [&](T a, T b) {
      T next = Operation::next(old, a, b);
      copy_scratch_bytes(wave, inst, base, offset[lane], lane, reinterpret_cast<u8*>(&next),
                         sizeof(T), true);
      return old;
    });
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
