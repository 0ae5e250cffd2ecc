// Access to translated memory for 64 lanes.
//
// Executors say where the lanes' addresses are and call load_lanes() or store_lanes(). If one
// translation holds for everything between the lowest and the highest address, which mostly lie in
// one buffer, no lane needs to be looked at by itself. Otherwise each lane is translated alone,
// and a lane that cannot be is a fault.
#pragma once

#include <algorithm>

#include "isa/exec/control.h"
#include "isa/exec/memory_shape.h"

namespace vgpu::isa::VGPU_ENGINE {

// ---- lanes' addresses ----

// Whether the active lanes of `lanes` hold the same value.
inline bool uniform(const u32* lanes, u64 mask) {
  const Lanes16 first = Lanes16::all(lanes[std::countr_zero(mask)]);
  u64 differs = 0;
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    differs |= u64{Lanes16::load(lanes + lane).differs(first)} << lane;
  }
  return (differs & mask) == 0;
}

// base + low[lane], plus high[lane] << 32 unless high is null. Points to registers or buffers.
struct LaneAddresses {
  u64 base;
  const u32* low;
  const u32* high = nullptr;

  // Moves an upper half that is the same in all active lanes, as it mostly is, into the base.
  static LaneAddresses of_pairs(u64 base, const u32* low, const u32* high, u64 mask) {
    if (mask != 0 && uniform(high, mask)) {
      return {base + (u64{high[std::countr_zero(mask)]} << 32), low};
    }
    return {base, low, high};
  }

  u64 operator[](u32 lane) const { return base + low[lane] + (high ? u64{high[lane]} << 32 : 0); }
};

struct Range {
  u32 first, last;
};

// The lowest and the highest offset of the active lanes.
inline Range active_range(const u32* offset, u64 mask) {
  const Lanes16 some = Lanes16::all(offset[std::countr_zero(mask)]);
  Lanes16 low = some, high = some;
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    const u32 active = static_cast<u32>(mask >> lane) & kFullGroup;
    const Lanes16 at = Lanes16::load(offset + lane).or_else(active, some);
    low = low.min(at);
    high = high.max(at);
  }
  return {low.lowest(), high.highest()};
}

// ---- translation ----

// Finds the delta that translates every byte of [first, last]. A range of many leaves is left to
// the way lane by lane, which then looks at fewer of them.
inline bool one_translation(const PageTable& memory, u64 first, u64 last, u64 need, u64& delta) {
  constexpr int kMostLeaves = 32;
  const PageTable::Leaf begin = memory.leaf(first);
  if ((begin.entry & (page_valid | need)) != (page_valid | need) || last < first) {
    return false;
  }
  u64 end = begin.end;
  for (int leaves = 1; end <= last; ++leaves) {
    const PageTable::Leaf next = memory.leaf(end);
    if (next.entry != begin.entry || leaves == kMostLeaves) {
      return false;
    }
    end = next.end;
  }
  delta = begin.entry & ~(kPageSize - 1);
  return true;
}

// The host's base for at.low if all active lanes share one translation.
inline bool translate_lanes(const Wave& wave, const LaneAddresses& at, u64 mask, u32 bytes,
                            u64 need, u64& host_base) {
  if (at.high) {
    return false;
  }
  const Range range = active_range(at.low, mask);
  u64 delta;
  if (!one_translation(*wave.memory, at.base + range.first, at.base + range.last + bytes - 1, need,
                       delta)) {
    return false;
  }
  host_base = at.base + delta;
  return true;
}

inline bool crosses_page(u64 va, u32 bytes) { return va % kPageSize + bytes > kPageSize; }

// The first address of [va, va + bytes) that cannot be accessed.
inline u64 faulting_address(const PageTable& memory, u64 va, u32 bytes, u64 need) {
  return memory.translate(va, need) ? (va + bytes - 1) & ~(kPageSize - 1) : va;
}

// ---- loads and stores ----

template <class S>
[[gnu::noinline, gnu::cold]] void load_lanes_apart(Wave& wave, const Inst& inst,
                                                   const Registers<S::kRegisters>& to,
                                                   const LaneAddresses& at, u64 mask) {
  for (; mask; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    const u64 va = at[lane];
    u8 bytes[S::kBytes];
    const u8* from = wave.memory->translate(va);
    if (crosses_page(va, S::kBytes)) {
      from = wave.memory->read(va, bytes, S::kBytes) ? bytes : nullptr;
    }
    if (!from) {
      stop_fault(wave, inst, faulting_address(*wave.memory, va, S::kBytes, 0), false);
      return;
    }
    S::load_lane(to, lane, from);
  }
}

template <class S>
[[gnu::noinline, gnu::cold]] void store_lanes_apart(Wave& wave, const Inst& inst,
                                                    const Registers<S::kRegisters>& from,
                                                    const LaneAddresses& at, u64 mask) {
  for (; mask; mask &= mask - 1) {
    const u32 lane = static_cast<u32>(std::countr_zero(mask));
    const u64 va = at[lane];
    if (crosses_page(va, S::kBytes)) {
      u8 bytes[S::kBytes];
      S::store_lane(from, lane, bytes);
      if (wave.memory->write(va, bytes, S::kBytes)) {
        continue;
      }
    } else if (u8* to = wave.memory->translate(va, page_write)) {
      S::store_lane(from, lane, to);
      continue;
    }
    stop_fault(wave, inst, faulting_address(*wave.memory, va, S::kBytes, page_write), true);
    return;
  }
}

// Loads S for every lane in mask. `to` may be the registers that hold the addresses: a lane's
// address is read before anything is written to that lane.
template <class S>
void load_lanes(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& to,
                const LaneAddresses& at, u64 mask) {
  if (mask == 0) {
    return;
  }
  u64 base;
  if (translate_lanes(wave, at, mask, S::kBytes, 0, base)) {
    S::load(to, base, at.low, mask);
  } else {
    load_lanes_apart<S>(wave, inst, to, at, mask);
  }
}

// Stores S of `from` for every lane in mask; of lanes that overlap the last one wins.
template <class S>
void store_lanes(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& from,
                 const LaneAddresses& at, u64 mask) {
  if (mask == 0) {
    return;
  }
  u64 base;
  if (translate_lanes(wave, at, mask, S::kBytes, page_write, base)) {
    S::store(from, base, at.low, mask);
  } else {
    store_lanes_apart<S>(wave, inst, from, at, mask);
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
