// The wave's floating-point mode on the host.
//
// MODE holds a rounding mode and a denormal mode for single precision, and another pair for double
// and half precision ("CDNA2 ISA", 3.5). While a wave runs, the host's MXCSR holds the single
// precision pair; executors of f64 and f16 arithmetic put a DoubleMode around their loop, which
// costs nothing as long as both pairs agree (they do in all compiled code so far seen).
#pragma once

#include <xmmintrin.h>

#include "isa/wave.h"

namespace vgpu::isa::VGPU_ENGINE {

enum ModeBits : u32 {
  mode_round_single = 3u << 0,
  mode_round_double = 3u << 2,
  mode_denorm_single = 3u << 4,  // bit 0: keep denormal inputs, bit 1: keep denormal results
  mode_denorm_double = 3u << 6,
  mode_dx10_clamp = 1u << 8,
  mode_ieee = 1u << 9,
  mode_gpr_idx_en = 1u << 27,
  mode_vskip = 1u << 28,
};

// MXCSR for two bits of rounding mode and two bits of denormal mode; all exceptions masked.
inline u32 mxcsr_of(u32 round, u32 denorm) {
  // MODE: nearest even, up, down, zero. MXCSR: nearest even, down, up, zero.
  static constexpr u32 kRound[] = {0u << 13, 2u << 13, 1u << 13, 3u << 13};
  const u32 daz = denorm & 1 ? 0 : 1u << 6;
  const u32 ftz = denorm & 2 ? 0 : 1u << 15;
  return 0x1f80u | kRound[round & 3] | daz | ftz;
}

inline u32 mxcsr_single(u32 mode) { return mxcsr_of(mode & 3, mode >> 4 & 3); }
inline u32 mxcsr_double(u32 mode) { return mxcsr_of(mode >> 2 & 3, mode >> 6 & 3); }

// Makes the host compute as the wave's MODE says for single precision. Called when a wave starts
// to run and whenever MODE is written.
inline void apply_float_mode(u32 mode) { _mm_setcsr(mxcsr_single(mode)); }

// Within its lifetime the host computes as MODE says for double and half precision.
class DoubleMode {
 public:
  explicit DoubleMode(const Wave& wave) : mode_(wave.mode) {
    if (differs()) {
      _mm_setcsr(mxcsr_double(mode_));
    }
  }
  ~DoubleMode() {
    if (differs()) {
      _mm_setcsr(mxcsr_single(mode_));
    }
  }
  DoubleMode(const DoubleMode&) = delete;
  DoubleMode& operator=(const DoubleMode&) = delete;

 private:
  bool differs() const { return ((mode_ ^ mode_ >> 2) & (mode_round_single | mode_denorm_single)); }

  const u32 mode_;
};

}  // namespace vgpu::isa::VGPU_ENGINE
