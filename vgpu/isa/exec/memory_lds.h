// Access to the work-group's LDS for 64 lanes. One thread runs a whole work-group, so plain host
// accesses are enough, for atomics too. Reads out of range give zero, writes there are dropped.
#pragma once

#include "isa/exec/memory_atomic.h"

namespace vgpu::isa::VGPU_ENGINE {

inline bool in_lds(const Wave& wave, u32 address, u32 bytes) {
  return u64{address} + bytes <= wave.lds_size;
}

// The highest of all lanes' addresses.
inline u32 highest_address(const u32* address, u32 offset) {
  u32 highest = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 at = address[lane] + offset;
    highest = at > highest ? at : highest;
  }
  return highest;
}

template <class S>
void load_lds(Wave& wave, const Registers<S::kRegisters>& to, const u32* address, u32 offset,
              u64 mask) {
  if (mask == kAllLanes && in_lds(wave, highest_address(address, offset), S::kBytes)) {
    const u8* lds = wave.lds;
    for (int lane = 0; lane < kLanes; ++lane) {
      S::load_lane(to, lane, lds + (address[lane] + offset));
    }
    return;
  }
  for_lanes(mask, [&](int lane) {
    static constexpr u8 kZeros[S::kBytes] = {};
    const u32 at = address[lane] + offset;
    S::load_lane(to, lane, in_lds(wave, at, S::kBytes) ? wave.lds + at : kZeros);
  });
}

template <class S>
void store_lds(Wave& wave, const Registers<S::kRegisters>& from, const u32* address, u32 offset,
               u64 mask) {
  if (mask == kAllLanes && in_lds(wave, highest_address(address, offset), S::kBytes)) {
    u8* lds = wave.lds;
    for (int lane = 0; lane < kLanes; ++lane) {
      S::store_lane(from, lane, lds + (address[lane] + offset));
    }
    return;
  }
  for_lanes(mask, [&](int lane) {
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
  for_lanes(mask, [&](int lane) {
    const u32 at = address[lane] + offset;
    operands.run(lane, [&](T a, T b) { return modify_lds<Operation>(wave, at, a, b); });
  });
}

}  // namespace vgpu::isa::VGPU_ENGINE
