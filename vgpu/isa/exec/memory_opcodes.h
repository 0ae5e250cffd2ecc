// Which shape or operation an opcode means. FLAT, GLOBAL, SCRATCH and MUBUF have the same numbers.
#pragma once

#include "isa/exec/memory_access.h"
#include "isa/exec/memory_lds.h"

namespace vgpu::isa::VGPU_ENGINE {

// `Action` is a template over shapes with a static run(Wave&, const Inst&).
template <template <class> class Action>
Handler load_of(u32 opcode) {
  switch (opcode) {
    case 0x10: return Action<Shape<u8>>::run;
    case 0x11: return Action<Shape<i8>>::run;
    case 0x12: return Action<Shape<u16>>::run;
    case 0x13: return Action<Shape<i16>>::run;
    case 0x14: return Action<Shape<u32>>::run;
    case 0x15: return Action<Shape<u32, 2>>::run;
    case 0x16: return Action<Shape<u32, 3>>::run;
    case 0x17: return Action<Shape<u32, 4>>::run;
    case 0x20: return Action<Shape<u8, 1, Half::low>>::run;
    case 0x21: return Action<Shape<u8, 1, Half::high>>::run;
    case 0x22: return Action<Shape<i8, 1, Half::low>>::run;
    case 0x23: return Action<Shape<i8, 1, Half::high>>::run;
    case 0x24: return Action<Shape<u16, 1, Half::low>>::run;
    case 0x25: return Action<Shape<u16, 1, Half::high>>::run;
    default: return nullptr;
  }
}

template <template <class> class Action>
Handler store_of(u32 opcode) {
  switch (opcode) {
    case 0x18: return Action<Shape<u8>>::run;
    case 0x19: return Action<Shape<u8, 1, Half::high>>::run;
    case 0x1a: return Action<Shape<u16>>::run;
    case 0x1b: return Action<Shape<u16, 1, Half::high>>::run;
    case 0x1c: return Action<Shape<u32>>::run;
    case 0x1d: return Action<Shape<u32, 2>>::run;
    case 0x1e: return Action<Shape<u32, 3>>::run;
    case 0x1f: return Action<Shape<u32, 4>>::run;
    default: return nullptr;
  }
}

// The operations of atomics, the same numbers in FLAT, GLOBAL, MUBUF and (without the float ones)
// SMEM. The 64-bit ones follow 0x20 later.
template <template <class> class Action>
Handler atomic_of(u32 opcode) {
  switch (opcode) {
    case 0x40: return Action<Swap<u32>>::run;
    case 0x41: return Action<CompareSwap<u32>>::run;
    case 0x42: return Action<Add<u32>>::run;
    case 0x43: return Action<Subtract<u32>>::run;
    case 0x44: return Action<SignedMin<u32>>::run;
    case 0x45: return Action<UnsignedMin<u32>>::run;
    case 0x46: return Action<SignedMax<u32>>::run;
    case 0x47: return Action<UnsignedMax<u32>>::run;
    case 0x48: return Action<And<u32>>::run;
    case 0x49: return Action<Or<u32>>::run;
    case 0x4a: return Action<Xor<u32>>::run;
    case 0x4b: return Action<Increment<u32>>::run;
    case 0x4c: return Action<Decrement<u32>>::run;
    case 0x60: return Action<Swap<u64>>::run;
    case 0x61: return Action<CompareSwap<u64>>::run;
    case 0x62: return Action<Add<u64>>::run;
    case 0x63: return Action<Subtract<u64>>::run;
    case 0x64: return Action<SignedMin<u64>>::run;
    case 0x65: return Action<UnsignedMin<u64>>::run;
    case 0x66: return Action<SignedMax<u64>>::run;
    case 0x67: return Action<UnsignedMax<u64>>::run;
    case 0x68: return Action<And<u64>>::run;
    case 0x69: return Action<Or<u64>>::run;
    case 0x6a: return Action<Xor<u64>>::run;
    case 0x6b: return Action<Increment<u64>>::run;
    case 0x6c: return Action<Decrement<u64>>::run;
    default: return nullptr;
  }
}

template <template <class> class Action>
Handler float_atomic_of(u32 opcode) {
  switch (opcode) {
    case 0x4d: return Action<FloatAdd<float>>::run;
    case 0x4e: return Action<PackedHalfAdd>::run;
    case 0x4f: return Action<FloatAdd<double>>::run;
    case 0x50: return Action<FloatMin<double>>::run;
    case 0x51: return Action<FloatMax<double>>::run;
    default: return nullptr;
  }
}

// Loads with the LDS bit leave a dword per lane at M0[15:0] + the instruction's offset + lane * 4.
inline void store_to_lds_by_lane(Wave& wave, const Inst& inst, LaneBuffer& data) {
  LaneBuffer address;
  for (u32 lane = 0; lane < kLanes; ++lane) {
    address.lane[lane] = (wave.s[op_m0] & 0xffff) + static_cast<u32>(inst.imm) + lane * 4;
  }
  store_lds<Shape<u32>>(wave, Registers<1>(data.lane), address.lane, 0, wave.exec());
}

}  // namespace vgpu::isa::VGPU_ENGINE
