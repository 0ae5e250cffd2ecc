// Access to memory for 64 lanes at once.
//
// Executors compute a virtual address per lane and call load_lanes() or store_lanes(). Three ways
// lead to memory, fastest first:
//   - all lanes active and side by side: a vector copy;
//   - one translation holds for everything between the lowest and the highest address (a buffer,
//     mostly): a plain loop over the lanes, which may also cross pages;
//   - anything else: a translation per lane, a fault if there is none.
//
// Aligned dwords and qwords are moved by one host instruction each: programs poll flags that the
// CPU or another work-group sets. Host accesses are volatile for that reason.
#pragma once

#include <algorithm>
#include <array>
#include <bit>

#include "isa/exec/control.h"
#include "isa/exec/operands.h"

namespace vgpu::isa::VGPU_ENGINE {

constexpr u64 kAllLanes = ~u64{0};

struct alignas(64) Addresses {
  u64 va[kLanes];
};

// Calls f(lane) for every bit of mask.
template <class F>
[[gnu::always_inline]] inline void for_lanes(u64 mask, F&& f) {
  if (mask == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      f(lane);
    }
  } else {
    for (; mask; mask &= mask - 1) {
      f(std::countr_zero(mask));
    }
  }
}

// ---- host memory ----

template <class T>
struct HostType {
  typedef T Unaligned __attribute__((aligned(1), may_alias));
};

template <class T>
T read_host(const void* from) {
  return *static_cast<const volatile typename HostType<T>::Unaligned*>(from);
}

template <class T>
void write_host(void* to, T value) {
  *static_cast<volatile typename HostType<T>::Unaligned*>(to) = value;
}

// ---- the shape of an access ----

// Consecutive data registers of an instruction, each an array of 64 lanes.
template <int N>
struct Registers {
  u32* reg[N];

  Registers(Wave& wave, u16 first) {
    for (int i = 0; i < N; ++i) {
      reg[i] = vector(wave, static_cast<u16>(first + i));
    }
  }
  // A single register, or a buffer in place of one.
  explicit Registers(u32* lanes) requires(N == 1) : reg{lanes} {}
};

// Which part of the register a 16-bit access uses; the other half keeps its value.
enum class Half : u8 { none, low, high };

// N elements of type T per lane, one register each. T narrower than a register is extended by
// its sign or by zeros.
template <class T, int N = 1, Half kHalf = Half::none>
struct Shape {
  static_assert(N == 1 || sizeof(T) == 4);
  using Element = T;
  static constexpr int kRegisters = N;
  static constexpr u32 kBytes = sizeof(T) * N;

  static void to_register(u32& reg, T value) {
    if constexpr (kHalf == Half::low) {
      reg = (reg & 0xffff0000) | static_cast<u16>(value);
    } else if constexpr (kHalf == Half::high) {
      reg = (reg & 0xffff) | static_cast<u32>(static_cast<u16>(value)) << 16;
    } else {
      reg = static_cast<u32>(static_cast<i32>(value));
    }
  }
  static T from_register(u32 reg) { return static_cast<T>(kHalf == Half::high ? reg >> 16 : reg); }

  static void load_lane(const Registers<N>& to, int lane, const u8* from) {
    if constexpr (N == 1) {
      to_register(to.reg[0][lane], read_host<T>(from));
    } else {
      for (int i = 0; i + 1 < N; i += 2) {
        const u64 pair = read_host<u64>(from + i * 4);
        to.reg[i][lane] = static_cast<u32>(pair);
        to.reg[i + 1][lane] = static_cast<u32>(pair >> 32);
      }
      if constexpr (N % 2 != 0) {
        to.reg[N - 1][lane] = read_host<u32>(from + (N - 1) * 4);
      }
    }
  }
  static void store_lane(const Registers<N>& from, int lane, u8* to) {
    if constexpr (N == 1) {
      write_host<T>(to, from_register(from.reg[0][lane]));
    } else {
      for (int i = 0; i + 1 < N; i += 2) {
        write_host<u64>(to + i * 4, from.reg[i][lane] | u64{from.reg[i + 1][lane]} << 32);
      }
      if constexpr (N % 2 != 0) {
        write_host<u32>(to + (N - 1) * 4, from.reg[N - 1][lane]);
      }
    }
  }

  // 64 lanes side by side. The element pointer does not alias registers: those are the engine's.
  static void load_block(const Registers<N>& to, const u8* from) {
    typedef T Memory __attribute__((aligned(1), may_alias));
    const auto* __restrict element = reinterpret_cast<const Memory*>(from);
    for (int i = 0; i < N; ++i) {
      u32* __restrict reg = to.reg[i];
      for (int lane = 0; lane < kLanes; ++lane) {
        to_register(reg[lane], element[lane * N + i]);
      }
    }
  }
  static void store_block(const Registers<N>& from, u8* to) {
    typedef T Memory __attribute__((aligned(1), may_alias));
    auto* __restrict element = reinterpret_cast<Memory*>(to);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int i = 0; i < N; ++i) {
        element[lane * N + i] = from_register(from.reg[i][lane]);
      }
    }
  }
};

// ---- translation ----

// Whether lane i is `stride` bytes after lane i - 1, for all lanes.
template <u32 kStride>
bool side_by_side(const u64* va) {
  u64 differs = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    differs |= (va[lane] - va[0]) ^ (static_cast<u64>(lane) * kStride);
  }
  return differs == 0;
}

struct Range {
  u64 first, last;  // of the active lanes
};

inline Range active_range(const u64* va, u64 mask) {
  i64 low = static_cast<i64>(va[std::countr_zero(mask)]);
  i64 high = low;
  if (mask == kAllLanes) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const i64 address = static_cast<i64>(va[lane]);
      low = address < low ? address : low;
      high = address > high ? address : high;
    }
  } else {
    for (; mask; mask &= mask - 1) {
      const i64 address = static_cast<i64>(va[std::countr_zero(mask)]);
      low = std::min(low, address);
      high = std::max(high, address);
    }
  }
  return {static_cast<u64>(low), static_cast<u64>(high)};
}

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

inline u8* host_pointer(u64 va, u64 delta) { return reinterpret_cast<u8*>(va + delta); }

inline bool crosses_page(u64 va, u32 bytes) { return va % kPageSize + bytes > kPageSize; }

// The first address of [va, va + bytes) that cannot be accessed.
inline u64 faulting_address(const PageTable& memory, u64 va, u32 bytes, u64 need) {
  return memory.translate(va, need) ? (va + bytes - 1) & ~(kPageSize - 1) : va;
}

// ---- loads and stores ----

template <class S>
[[gnu::noinline, gnu::cold]] void load_lanes_apart(Wave& wave, const Inst& inst,
                                                   const Registers<S::kRegisters>& to,
                                                   const u64* va, u64 mask) {
  for (; mask; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    u8 bytes[S::kBytes];
    const u8* from = wave.memory->translate(va[lane]);
    if (crosses_page(va[lane], S::kBytes)) {
      from = wave.memory->read(va[lane], bytes, S::kBytes) ? bytes : nullptr;
    }
    if (!from) {
      stop_fault(wave, inst, faulting_address(*wave.memory, va[lane], S::kBytes, 0), false);
      return;
    }
    S::load_lane(to, lane, from);
  }
}

template <class S>
[[gnu::noinline, gnu::cold]] void store_lanes_apart(Wave& wave, const Inst& inst,
                                                    const Registers<S::kRegisters>& from,
                                                    const u64* va, u64 mask) {
  for (; mask; mask &= mask - 1) {
    const int lane = std::countr_zero(mask);
    if (crosses_page(va[lane], S::kBytes)) {
      u8 bytes[S::kBytes];
      S::store_lane(from, lane, bytes);
      if (wave.memory->write(va[lane], bytes, S::kBytes)) {
        continue;
      }
    } else if (u8* to = wave.memory->translate(va[lane], page_write)) {
      S::store_lane(from, lane, to);
      continue;
    }
    stop_fault(wave, inst, faulting_address(*wave.memory, va[lane], S::kBytes, page_write), true);
    return;
  }
}

// Loads S for every lane in mask from va[lane] into `to`.
template <class S>
void load_lanes(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& to, const u64* va,
                u64 mask) {
  if (mask == 0) {
    return;
  }
  u64 delta;
  if (mask == kAllLanes && side_by_side<S::kBytes>(va) &&
      one_translation(*wave.memory, va[0], va[0] + kLanes * S::kBytes - 1, 0, delta)) {
    S::load_block(to, host_pointer(va[0], delta));
    return;
  }
  const Range range = active_range(va, mask);
  if (one_translation(*wave.memory, range.first, range.last + S::kBytes - 1, 0, delta)) {
    for_lanes(mask, [&](int lane) { S::load_lane(to, lane, host_pointer(va[lane], delta)); });
    return;
  }
  load_lanes_apart<S>(wave, inst, to, va, mask);
}

// Stores S of `from` for every lane in mask to va[lane]; of lanes that overlap the last one wins.
template <class S>
void store_lanes(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& from, const u64* va,
                 u64 mask) {
  if (mask == 0) {
    return;
  }
  u64 delta;
  if (mask == kAllLanes && side_by_side<S::kBytes>(va) &&
      one_translation(*wave.memory, va[0], va[0] + kLanes * S::kBytes - 1, page_write, delta)) {
    S::store_block(from, host_pointer(va[0], delta));
    return;
  }
  const Range range = active_range(va, mask);
  if (one_translation(*wave.memory, range.first, range.last + S::kBytes - 1, page_write, delta)) {
    for_lanes(mask, [&](int lane) { S::store_lane(from, lane, host_pointer(va[lane], delta)); });
    return;
  }
  store_lanes_apart<S>(wave, inst, from, va, mask);
}

}  // namespace vgpu::isa::VGPU_ENGINE
