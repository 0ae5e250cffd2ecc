// Access to the work-group's LDS for 64 lanes. One thread runs a whole work-group, so plain host
// accesses are enough, for atomics too. Reads out of range give zero, writes there are dropped.
#pragma once

#include "isa/exec/memory_atomic.h"

namespace vgpu::isa::VGPU_ENGINE {

inline bool in_lds(const Wave& wave, u32 address, u32 bytes) {
  return u64{address} + bytes <= wave.lds_size;
}

// Whether all active lanes of address + offset are in range, with no wrap of the sum.
inline bool all_in_lds(const Wave& wave, const u32* address, u32 offset, u32 bytes, u64 mask) {
  if (mask == 0) {
    return true;
  }
  Lanes16 highest = Lanes16::all(0);
  for (u32 lane = 0; lane < kLanes; lane += kGroup) {
    const u32 active = static_cast<u32>(mask >> lane) & kFullGroup;
    highest = highest.max(Lanes16::load(address + lane).or_else(active, highest));
  }
  return u64{highest.highest()} + offset + bytes <= wave.lds_size;
}

template <class S>
void load_lds(Wave& wave, const Registers<S::kRegisters>& to, const u32* address, u32 offset,
              u64 mask) {
  if (all_in_lds(wave, address, offset, S::kBytes, mask)) {
    S::load(to, reinterpret_cast<u64>(wave.lds) + offset, address, mask);
    return;
  }
  for_lanes(mask, [&](u32 lane) {
    static constexpr u8 kZeros[S::kBytes] = {};
    const u32 at = address[lane] + offset;
    S::load_lane(to, lane, in_lds(wave, at, S::kBytes) ? wave.lds + at : kZeros);
  });
}

template <class S>
void store_lds(Wave& wave, const Registers<S::kRegisters>& from, const u32* address, u32 offset,
               u64 mask) {
  if (all_in_lds(wave, address, offset, S::kBytes, mask)) {
    S::store(from, reinterpret_cast<u64>(wave.lds) + offset, address, mask);
    return;
  }
  for_lanes(mask, [&](u32 lane) {
    const u32 at = address[lane] + offset;
    if (in_lds(wave, at, S::kBytes)) {
      S::store_lane(from, lane, wave.lds + at);
    }
  });
}

// Applies Operation to one place of LDS and returns the old value, zero if out of range.
template <class Operation>
typename Operation::Value modify_lds(Wave& wave, u32 address, typename Operation::Value a,
                                     typename Operation::Value b) {
  using T = typename Operation::Value;
  if (!in_lds(wave, address, sizeof(T))) {
    return 0;
  }
  const T old = read_host<T>(wave.lds + address);
  write_host<T>(wave.lds + address, Operation::next(old, a, b));
  return old;
}

template <class Operation>
void atomic_lds(Wave& wave, const AtomicOperands<Operation>& operands, const u32* address,
                u32 offset, u64 mask) {
  using T = typename Operation::Value;
  for_lanes(mask, [&](u32 lane) {
    const u32 at = address[lane] + offset;
    operands.run(lane, [&](T a, T b) { return modify_lds<Operation>(wave, at, a, b); });
  });
}

}  // namespace vgpu::isa::VGPU_ENGINE
