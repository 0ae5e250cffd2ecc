// Sub-dword addressing: a VOP1, VOP2 or VOPC instruction picks a byte or word of its sources and
// places its result in one ("CDNA2 ISA", 6.5). Inst::ext holds the SDWA dword; negation, absolute
// value, clamp and register numbers are decoded like those of other encodings.
#pragma once

#include "isa/wave.h"

namespace vgpu::isa::VGPU_ENGINE {

enum class SdwaSelect : u8 { byte0, byte1, byte2, byte3, word0, word1, dword };
enum class SdwaUnused : u8 { pad, sign_extend, preserve };

// The part of source 0 or 1, and whether it is sign-extended.
struct SdwaSource {
  SdwaSelect select;
  bool sign_extend;
};

inline SdwaSource sdwa_source(u32 ext, unsigned index) {
  const u32 bits = ext >> (index == 0 ? 16 : 24);
  return {static_cast<SdwaSelect>(bits & 7), (bits >> 3 & 1) != 0};
}

inline SdwaSelect sdwa_destination(u32 ext) { return static_cast<SdwaSelect>(ext >> 8 & 7); }
inline SdwaUnused sdwa_unused(u32 ext) { return static_cast<SdwaUnused>(ext >> 11 & 3); }

struct SdwaField {
  u32 shift, width;
};

constexpr SdwaField sdwa_field(SdwaSelect select) {
  switch (select) {
    case SdwaSelect::byte0:
    case SdwaSelect::byte1:
    case SdwaSelect::byte2:
    case SdwaSelect::byte3: return {static_cast<u32>(select) * 8, 8};
    case SdwaSelect::word0: return {0, 16};
    case SdwaSelect::word1: return {16, 16};
    case SdwaSelect::dword: break;
  }
  return {0, 32};
}

// The selected part of each lane. `out` may be `in`.
inline void sdwa_extract(SdwaSource source, const u32* in, u32* out) {
  const SdwaField field = sdwa_field(source.select);
  const u32 up = 32 - field.shift - field.width, down = 32 - field.width;
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 word = in[lane] << up;
    out[lane] =
        source.sign_extend ? static_cast<u32>(static_cast<i32>(word) >> down) : word >> down;
  }
}

// Places each result in its part of the register; `words` becomes the new register contents.
inline void sdwa_insert(u32 ext, const u32* old, u32* words) {
  const SdwaField field = sdwa_field(sdwa_destination(ext));
  const u32 ones = field.width == 32 ? ~0u : (1u << field.width) - 1;
  const u32 mask = ones << field.shift;
  const SdwaUnused unused = sdwa_unused(ext);
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 value = words[lane] & ones;
    const u32 placed = value << field.shift;
    if (unused == SdwaUnused::preserve) {
      words[lane] = (old[lane] & ~mask) | placed;
    } else if (unused == SdwaUnused::sign_extend && (value >> (field.width - 1) & 1) != 0) {
      words[lane] = placed | ~(mask | ((u32{1} << field.shift) - 1));
    } else {
      words[lane] = placed;
    }
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
