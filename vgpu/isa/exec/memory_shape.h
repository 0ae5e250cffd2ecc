// What a lane moves between memory and registers, and how to do that for 64 lanes when their host
// addresses are known: base + offset[lane].
//
// Most accesses follow one of two patterns within groups of 16 lanes: side by side (a row of a
// matrix) or all the same (a broadcast); both become vector moves. Wider elements are moved four
// lanes at a time and transposed.
//
// Aligned dwords and qwords are moved whole: programs poll flags that the CPU or another work-group
// sets.
#pragma once

#include <bit>

#include "isa/exec/lanes16.h"
#include "isa/exec/operands.h"

namespace vgpu::isa::VGPU_ENGINE {

constexpr u64 kAllLanes = ~u64{0};

// Calls f(lane) for every bit of mask.
template <class F>
[[gnu::always_inline]] inline void for_lanes(u64 mask, F&& f) {
  if (mask == kAllLanes) {
    for (u32 lane = 0; lane < kLanes; ++lane) {
      f(lane);
    }
  } else {
    for (; mask; mask &= mask - 1) {
      f(static_cast<u32>(std::countr_zero(mask)));
    }
  }
}

// ---- host memory: any alignment, one instruction each ----

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

// Host addresses are integers until they are used: a base may lie outside of all memory.
inline u8* host_pointer(u64 address) { return reinterpret_cast<u8*>(address); }

// ---- registers ----

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

// ---- four lanes of N dwords: a small transposition ----

struct Quad {
  __m128i row[4];  // row[i]: lane i's dwords, or register i's lanes

  void transpose() {
    const __m128i a = _mm_unpacklo_epi32(row[0], row[1]), b = _mm_unpacklo_epi32(row[2], row[3]);
    const __m128i c = _mm_unpackhi_epi32(row[0], row[1]), d = _mm_unpackhi_epi32(row[2], row[3]);
    row[0] = _mm_unpacklo_epi64(a, b);
    row[1] = _mm_unpackhi_epi64(a, b);
    row[2] = _mm_unpacklo_epi64(c, d);
    row[3] = _mm_unpackhi_epi64(c, d);
  }

  template <int N>
  static __m128i load(const u8* from) {
    if constexpr (N == 2) {
      return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    } else if constexpr (N == 3) {  // not a byte more: the next page may not exist
      const __m128i two = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
      return _mm_insert_epi32(two, static_cast<int>(read_host<u32>(from + 8)), 2);
    } else {
      return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    }
  }
  template <int N>
  static void store(__m128i value, u8* to) {
    if constexpr (N < 4) {
      _mm_storel_epi64(reinterpret_cast<__m128i*>(to), value);
      if constexpr (N == 3) {
        write_host<u32>(to + 8, static_cast<u32>(_mm_extract_epi32(value, 2)));
      }
    } else {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to), value);
    }
  }
};

// ---- shapes ----

// Which part of the register a 16-bit access uses. A load writes zero into the other half: all GPUs
// here have SRAM ECC (vgpu/driver/profiles.cpp), with which a register is written whole (LLVM,
// GCNSubtarget.h, d16PreservesUnusedBits()).
enum class Half : u8 { none, low, high };

// N elements of type T per lane, one register each. T narrower than a register is extended by
// its sign or by zeros.
template <class T, int N = 1, Half kHalf = Half::none>
struct Shape {
  static_assert(N == 1 || sizeof(T) == 4);
  static constexpr int kRegisters = N;
  static constexpr u32 kBytes = sizeof(T) * N;
  static constexpr bool kIsDword = N == 1 && sizeof(T) == 4;
  using Data = const Registers<N>&;

  static void to_register(u32& reg, T value) {
    if constexpr (kHalf == Half::low) {
      reg = static_cast<u16>(value);
    } else if constexpr (kHalf == Half::high) {
      reg = static_cast<u32>(static_cast<u16>(value)) << 16;
    } else {
      reg = static_cast<u32>(static_cast<i32>(value));
    }
  }
  static T from_register(u32 reg) { return static_cast<T>(kHalf == Half::high ? reg >> 16 : reg); }

  static void load_lane(Data to, u32 lane, const u8* from) {
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
  static void store_lane(Data from, u32 lane, u8* to) {
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

  // All lanes of the mask.
  static void load(Data to, u64 base, const u32* offset, u64 mask) {
    if constexpr (kIsDword) {
      for (u32 lane = 0; lane < kLanes; lane += kGroup) {
        load_group(to.reg[0] + lane, base, offset + lane,
                   static_cast<u32>(mask >> lane) & kFullGroup);
      }
    } else if constexpr (N > 1) {
      for (u32 lane = 0; lane < kLanes; lane += 4) {
        load_quad(to, lane, base, offset, static_cast<u32>(mask >> lane) & 15);
      }
    } else {
      for_lanes(mask, [&](u32 lane) { load_lane(to, lane, host_pointer(base + offset[lane])); });
    }
  }
  static void store(Data from, u64 base, const u32* offset, u64 mask) {
    if constexpr (kIsDword) {
      for (u32 lane = 0; lane < kLanes; lane += kGroup) {
        store_group(from.reg[0] + lane, base, offset + lane,
                    static_cast<u32>(mask >> lane) & kFullGroup);
      }
    } else if constexpr (N > 1) {
      for (u32 lane = 0; lane < kLanes; lane += 4) {
        store_quad(from, lane, base, offset, static_cast<u32>(mask >> lane) & 15);
      }
    } else {
      for_lanes(mask, [&](u32 lane) { store_lane(from, lane, host_pointer(base + offset[lane])); });
    }
  }

 private:
  // Whether active lanes are four bytes after their neighbour.
  static bool side_by_side(Lanes16 at, const u32* offset, u32 active, u32 mask) {
    const u32 first = offset[active] - active * 4;
    return (at.differs(Lanes16::all(first) + Lanes16::steps(4)) & mask) == 0;
  }

  // Sixteen dwords. Lanes that are side by side are one vector, however many are active.
  static void load_group(u32* reg, u64 base, const u32* offset, u32 mask) {
    if (mask == 0) {
      return;
    }
    const u32 active = static_cast<u32>(std::countr_zero(mask));
    const Lanes16 at = Lanes16::load(offset);
    if (side_by_side(at, offset, active, mask)) {
      // Lane 0 may lie before the buffer if it is inactive; it is not touched then.
      const u8* from = host_pointer(base + offset[active] - active * 4);
      mask == kFullGroup
          ? Lanes16::load(from).store(reg)
          : Lanes16::load_masked(mask, from).or_else(mask, Lanes16::load(reg)).store(reg);
    } else if ((at.differs(Lanes16::all(offset[active])) & mask) == 0) {
      const u32 value = read_host<u32>(host_pointer(base + offset[active]));
      Lanes16::all(value).or_else(mask, Lanes16::load(reg)).store(reg);
    } else if (mask == kFullGroup) {
      for (u32 lane = 0; lane < kGroup; ++lane) {
        reg[lane] = read_host<u32>(host_pointer(base + offset[lane]));
      }
    } else {
      for (; mask; mask &= mask - 1) {
        const int lane = std::countr_zero(mask);
        reg[lane] = read_host<u32>(host_pointer(base + offset[lane]));
      }
    }
  }

  static void store_group(const u32* reg, u64 base, const u32* offset, u32 mask) {
    if (mask == 0) {
      return;
    }
    const u32 active = static_cast<u32>(std::countr_zero(mask));
    if (side_by_side(Lanes16::load(offset), offset, active, mask)) {
      const Lanes16 value = Lanes16::load(reg);
      u8* to = host_pointer(base + offset[active] - active * 4);
      mask == kFullGroup ? value.store(to) : value.store_masked(mask, to);
    } else {
      for (; mask; mask &= mask - 1) {
        const int lane = std::countr_zero(mask);
        write_host<u32>(host_pointer(base + offset[lane]), reg[lane]);
      }
    }
  }

  static void load_quad(Data to, u32 lane, u64 base, const u32* offset, u32 mask) {
    if (mask != 15) {
      for (; mask; mask &= mask - 1) {
        const u32 one = lane + static_cast<u32>(std::countr_zero(mask));
        load_lane(to, one, host_pointer(base + offset[one]));
      }
      return;
    }
    Quad quad;
    for (u32 i = 0; i < 4; ++i) {
      quad.row[i] = Quad::load<N>(host_pointer(base + offset[lane + i]));
    }
    quad.transpose();
    for (int i = 0; i < N; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(to.reg[i] + lane), quad.row[i]);
    }
  }

  static void store_quad(Data from, u32 lane, u64 base, const u32* offset, u32 mask) {
    if (mask != 15) {
      for (; mask; mask &= mask - 1) {
        const u32 one = lane + static_cast<u32>(std::countr_zero(mask));
        store_lane(from, one, host_pointer(base + offset[one]));
      }
      return;
    }
    Quad quad = {};
    for (int i = 0; i < N; ++i) {
      quad.row[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from.reg[i] + lane));
    }
    quad.transpose();
    for (u32 i = 0; i < 4; ++i) {
      Quad::store<N>(quad.row[i], host_pointer(base + offset[lane + i]));
    }
  }
};

}  // namespace vgpu::isa::VGPU_ENGINE
