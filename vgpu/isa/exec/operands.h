// Reading and writing operands. Included by the executors only, which are compiled once per host
// instruction set: everything here is inline and lives in a namespace named after the set, so that
// the linker never mixes the two.
#pragma once

#include <bit>
#include <cstring>

#include "isa/inst.h"
#include "isa/wave.h"

#ifndef VGPU_ENGINE
#error "compiled with -DVGPU_ENGINE=v3 or v4"
#endif

namespace vgpu::isa::VGPU_ENGINE {

// ---- scalar operands ----

// Inline constants, apertures and status sources: everything from 128 to 255 but the literal.
// 64-bit operands get integers sign-extended and floats as doubles; 16-bit ones as halves.
inline u32 inline_constant32(const Wave& wave, u16 code) {
  static constexpr float kFloats[] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f};
  if (code <= 192) {
    return code - 128u;
  }
  if (code <= 208) {
    return 192u - code;
  }
  if (code >= op_float0 && code < op_float0 + 8) {
    return std::bit_cast<u32>(kFloats[code - op_float0]);
  }
  switch (code) {
    case op_float0 + 8:
      return 0x3e22f983;  // 1/(2*pi)
    // The aperture registers read as 64-bit values whose high half is the base (LLVM, AMDGPU
    // usage, "Address Spaces"); a 32-bit read gives that high half.
    case op_shared_base: return wave.shared_base_hi << 16;
    case op_shared_limit: return wave.shared_base_hi << 16 | 0xffff;
    case op_private_base: return wave.private_base_hi << 16;
    case op_private_limit: return wave.private_base_hi << 16 | 0xffff;
    case op_vccz: return wave.vcc() == 0;
    case op_execz: return wave.exec() == 0;
    case op_scc: return wave.scc;
    default: return 0;
  }
}

inline u64 inline_constant64(const Wave& wave, u16 code) {
  static constexpr double kDoubles[] = {0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0};
  if (code <= 208) {
    return static_cast<u64>(static_cast<i64>(static_cast<i32>(inline_constant32(wave, code))));
  }
  if (code >= op_float0 && code < op_float0 + 8) {
    return std::bit_cast<u64>(kDoubles[code - op_float0]);
  }
  switch (code) {
    case op_float0 + 8: return 0x3fc45f306dc9c882;  // 1/(2*pi)
    case op_shared_base: return u64{wave.shared_base_hi} << 48;
    case op_shared_limit: return u64{wave.shared_base_hi} << 48 | 0xffffffff;
    case op_private_base: return u64{wave.private_base_hi} << 48;
    case op_private_limit: return u64{wave.private_base_hi} << 48 | 0xffffffff;
    default: return inline_constant32(wave, code);
  }
}

// Half-precision inline constants; integers are the low 16 bits.
inline u16 inline_constant16(const Wave& wave, u16 code) {
  static constexpr u16 kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000,
                                    0xc000, 0x4400, 0xc400, 0x3118};
  if (code >= op_float0 && code < op_float0 + 9) {
    return kHalves[code - op_float0];
  }
  return static_cast<u16>(inline_constant32(wave, code));
}

inline u32 scalar32(const Wave& wave, const Inst& inst, u16 code) {
  if (code < 128) {
    return wave.s[code];
  }
  if (code == op_literal) {
    return static_cast<u32>(inst.imm);
  }
  return inline_constant32(wave, code);
}

inline u64 scalar64(const Wave& wave, const Inst& inst, u16 code) {
  if (code < 127) {
    return wave.s[code] | u64{wave.s[code + 1]} << 32;
  }
  if (code == op_literal) {
    return static_cast<u32>(inst.imm);  // extended by zeros; signed operations see to the sign
  }
  return inline_constant64(wave, code);
}

inline void set_scalar32(Wave& wave, u16 code, u32 value) {
  if (code < 128) {
    wave.s[code] = value;
  }
}

inline void set_scalar64(Wave& wave, u16 code, u64 value) {
  if (code < 127) {
    wave.s[code] = static_cast<u32>(value);
    wave.s[code + 1] = static_cast<u32>(value >> 32);
  }
}

// ---- vector operands ----

inline bool is_vector(u16 code) { return code >= op_vgpr0 && code != op_none; }

// The 64 lanes of a vector register. A register the wave did not allocate reads and writes
// register 0 of its file, as out-of-range indices do on hardware ("VGPR out of range": V0).
inline u32* vector(Wave& wave, u16 code) {
  if (code >= op_acc0) {
    const u32 n = code - op_acc0;
    return wave.acc + (n < wave.nacc ? n : 0) * kLanes;
  }
  const u32 n = code - op_vgpr0;
  return wave.v + (n < wave.nv ? n : 0) * kLanes;
}

struct alignas(64) LaneBuffer {
  u32 lane[kLanes];
};

inline const u32* broadcast(LaneBuffer& buffer, u32 value) {
  for (u32& lane : buffer.lane) {
    lane = value;
  }
  return buffer.lane;
}

// The 64 lanes of a 32-bit source: a register's own array, or a scalar broadcast into `buffer`.
inline const u32* lanes32(Wave& wave, const Inst& inst, u16 code, LaneBuffer& buffer) {
  if (is_vector(code)) {
    return vector(wave, code);
  }
  return broadcast(buffer, scalar32(wave, inst, code));
}

// Spreads a lane mask over 64 words, all ones where the bit is set. In halves, since the compiler
// vectorises shifts of words but not of doublewords.
inline void expand_mask(u64 mask, u32* out) {
  const u32 low = static_cast<u32>(mask), high = static_cast<u32>(mask >> 32);
  for (u32 lane = 0; lane < 32; ++lane) {
    out[lane] = -(low >> lane & 1);
  }
  for (u32 lane = 0; lane < 32; ++lane) {
    out[lane + 32] = -(high >> lane & 1);
  }
}

// Apart from exec_mask(), which is inlined into every executor.
[[gnu::noinline]] inline void refresh_exec_mask(Wave& wave) {
  wave.mask_for = wave.exec();
  expand_mask(wave.mask_for, wave.mask);
}

// EXEC as a word per lane, all ones where the lane is active.
inline const u32* exec_mask(Wave& wave) {
  if (wave.mask_for != wave.exec()) {
    refresh_exec_mask(wave);
  }
  return wave.mask;
}

}  // namespace vgpu::isa::VGPU_ENGINE
