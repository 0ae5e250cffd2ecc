#include "isa/exec/vector_general.h"

#include <algorithm>

#include "isa/exec/dpp.h"
#include "isa/exec/sdwa.h"
#include "isa/exec/vector_float.h"
#include "isa/tables.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// The 32 bits a scalar operand gives to a source of this kind. Integer constants are sign-extended
// to 32 bits for all kinds; float constants are halves for f16 sources and single precision for
// 16-bit integers (LLVM, AMDGPUBaseInfo.cpp, on inline constants of 16-bit instructions).
u32 scalar_word(const Wave& wave, const Inst& inst, u16 code, Kind kind) {
  const bool halves = kind == Kind::f16 || kind == Kind::raw_f16 || kind == Kind::raw_f16x2;
  const bool half_constant = halves && code >= op_float0 && code <= op_float0 + 8;
  return half_constant ? inline_constant16(wave, code) : scalar32(wave, inst, code);
}

// A source's register contents after lane selection, before anything else.
const u32* raw_lanes(Wave& wave, const Inst& inst, u16 code, unsigned index, Kind kind,
                     LaneArray& buffer) {
  u32* out = buffer.as<u32>();
  if (!is_vector(code)) {
    std::fill_n(out, kLanes, scalar_word(wave, inst, code, kind));
    return out;
  }
  const u32* lanes = vector(wave, code);
  if ((inst.flags & inst_dpp) == 0 || index != 0) {
    return lanes;
  }
  dpp_permute(inst.ext, dpp_lanes(inst.ext, wave.exec()).zero, lanes, out);
  return out;
}

// abs, then neg, on the sign bit of each lane.
template <class Word>
void apply_sign(SourceModifiers modifiers, Word sign, const Word* in, Word* out) {
  const Word keep = modifiers.abs ? ~sign : ~Word{0};
  const Word flip = modifiers.neg ? sign : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    out[lane] = (in[lane] & keep) ^ flip;
  }
}

const void* stage_word(const u32* lanes, SourceModifiers modifiers, LaneArray& buffer) {
  if (!modifiers.neg && !modifiers.abs) {
    return lanes;
  }
  apply_sign<u32>(modifiers, 0x80000000, lanes, buffer.as<u32>());
  return buffer.as<u32>();
}

const void* stage_short(const u32* lanes, Kind kind, SourceModifiers modifiers, const Mode& mode,
                        LaneArray& buffer) {
  LaneBuffer bits;
  const u32 shift = modifiers.high ? 16 : 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    bits.lane[lane] = lanes[lane] >> shift & 0xffff;
  }
  apply_sign<u32>(modifiers, 0x8000, bits.lane, bits.lane);
  if (kind != Kind::f16) {
    std::memcpy(buffer.as<u32>(), bits.lane, sizeof bits.lane);
    return buffer.as<u32>();
  }
  if (mode.flush_in64) {
    for (u32& lane : bits.lane) {
      lane = flush_half(lane);
    }
  }
  halves_to_floats(bits.lane, buffer.as<float>());
  return buffer.as<float>();
}

u64 wide_scalar_bits(const Wave& wave, const Inst& inst, u16 code, Kind kind) {
  switch (kind) {
    case Kind::b64: return wide_scalar<u64>(wave, inst, code);
    case Kind::i64: return static_cast<u64>(wide_scalar<i64>(wave, inst, code));
    default: return std::bit_cast<u64>(wide_scalar<double>(wave, inst, code));
  }
}

const void* stage_wide(Wave& wave, const Inst& inst, u16 code, unsigned index, Kind kind,
                       SourceModifiers modifiers, LaneArray& buffer) {
  u64* out = buffer.as<u64>();
  if (is_vector(code)) {
    LaneArray low_buffer, high_buffer;
    const u32* low = raw_lanes(wave, inst, code, index, kind, low_buffer);
    const u32* high = raw_lanes(wave, inst, code + 1, index, kind, high_buffer);
    for (int lane = 0; lane < kLanes; ++lane) {
      out[lane] = low[lane] | u64{high[lane]} << 32;
    }
  } else {
    const u64 value = wide_scalar_bits(wave, inst, code, kind);
    for (int lane = 0; lane < kLanes; ++lane) {
      out[lane] = value;
    }
  }
  apply_sign<u64>(modifiers, u64{1} << 63, out, out);
  return out;
}

// The output modifier multiplies by 2, 4 or 1/2. It takes effect only where it is harmless: not in
// IEEE mode and not with denormal results enabled ("CDNA2 ISA", output modifiers).
template <class T>
void scale_lanes(u8 omod, T* lanes) {
  const T factor = omod == 1 ? T(2) : omod == 2 ? T(4) : T(0.5);
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] *= factor;
  }
}

// To [0, 1], by the bits: comparing as numbers would flush denormals that MODE keeps.
template <class T>
void clamp_lanes(bool nan_to_zero, T* lanes) {
  for (int lane = 0; lane < kLanes; ++lane) {
    lanes[lane] = clamped(lanes[lane], nan_to_zero);
  }
}

void store_short(Wave& wave, const Inst& inst, const VectorShape& shape, const Mode& mode,
                 const LaneArray& result, u64 lanes) {
  LaneBuffer bits;
  short_result_bits(shape.result, mode, result, bits.lane);
  u32* destination = vector(wave, inst.dst);
  if (inst.flags & inst_sdwa) {
    sdwa_insert(inst.ext, destination, bits.lane);
  } else if (inst.op->format == Format::vop3 && (inst.opsel & 8)) {
    for (int lane = 0; lane < kLanes; ++lane) {
      bits.lane[lane] = bits.lane[lane] << 16 | (destination[lane] & 0xffff);
    }
  } else if (shape.keeps_high) {
    for (int lane = 0; lane < kLanes; ++lane) {
      bits.lane[lane] |= destination[lane] & 0xffff0000;
    }
  }
  store_lanes(destination, bits.lane, lanes);
}

void store_wide(Wave& wave, const Inst& inst, const LaneArray& result, u64 lanes) {
  LaneBuffer low, high;
  for (int lane = 0; lane < kLanes; ++lane) {
    low.lane[lane] = static_cast<u32>(result.bits[lane]);
    high.lane[lane] = static_cast<u32>(result.bits[lane] >> 32);
  }
  store_lanes(vector(wave, inst.dst), low.lane, lanes);
  store_lanes(vector(wave, inst.dst + 1), high.lane, lanes);
}

void store_result(Wave& wave, const Inst& inst, const VectorShape& shape, const Mode& mode,
                  LaneArray& result, u64 lanes) {
  modify_result(inst, shape.result, mode, result);
  if (is_short(shape.result)) {
    store_short(wave, inst, shape, mode, result, lanes);
  } else if (is_wide(shape.result)) {
    store_wide(wave, inst, result, lanes);
  } else {
    u32* destination = vector(wave, inst.dst);
    if (inst.flags & inst_sdwa) {
      sdwa_insert(inst.ext, destination, result.as<u32>());
    }
    store_lanes(destination, result.as<u32>(), lanes);
  }
}

}  // namespace

SourceModifiers modifiers_of(const Inst& inst, unsigned index) {
  const bool high = inst.op->format == Format::vop3 && (inst.opsel >> index & 1) != 0;
  return {.neg = (inst.neg >> index & 1) != 0, .abs = (inst.abs >> index & 1) != 0, .high = high};
}

const void* stage_source(Wave& wave, const Inst& inst, u16 code, unsigned index, Kind kind,
                         SourceModifiers modifiers, const Mode& mode, LaneArray& buffer) {
  if (is_wide(kind)) {
    return stage_wide(wave, inst, code, index, kind, modifiers, buffer);
  }
  const u32* lanes = raw_lanes(wave, inst, code, index, kind, buffer);
  if ((inst.flags & inst_sdwa) && index < 2) {
    sdwa_extract(sdwa_source(inst.ext, index), lanes, buffer.as<u32>());
    lanes = buffer.as<u32>();
  }
  return is_short(kind) ? stage_short(lanes, kind, modifiers, mode, buffer)
                        : stage_word(lanes, modifiers, buffer);
}

void modify_result(const Inst& inst, Kind kind, const Mode& mode, LaneArray& result) {
  const bool single = kind == Kind::f32;
  const bool scales =
      inst.omod != 0 && !mode.ieee && (single ? mode.flush_out32 : mode.flush_out64);
  const bool clamps = (inst.flags & inst_clamp) != 0;
  if (kind == Kind::f32 || kind == Kind::f16) {
    if (scales)
      scale_lanes(inst.omod, result.as<float>());
    if (clamps)
      clamp_lanes(mode.dx10_clamp, result.as<float>());
  } else if (kind == Kind::f64) {
    if (scales)
      scale_lanes(inst.omod, result.as<double>());
    if (clamps)
      clamp_lanes(mode.dx10_clamp, result.as<double>());
  }
}

void short_result_bits(Kind kind, const Mode& mode, const LaneArray& result, u32* bits) {
  if (kind == Kind::b16) {
    const u32* words = result.as<u32>();
    for (int lane = 0; lane < kLanes; ++lane) {
      bits[lane] = words[lane] & 0xffff;
    }
    return;
  }
  floats_to_halves(result.as<float>(), bits);
  if (mode.flush_out64) {
    for (int lane = 0; lane < kLanes; ++lane) {
      bits[lane] = flush_half(bits[lane]);
    }
  }
}

void store_lanes(u32* destination, const u32* words, u64 lanes) {
  if (lanes == ~u64{0}) {
    std::memcpy(destination, words, kLanes * sizeof(u32));
    return;
  }
  LaneBuffer mask;
  expand_mask(lanes, mask.lane);
  for (int lane = 0; lane < kLanes; ++lane) {
    destination[lane] = mask.lane[lane] != 0 ? words[lane] : destination[lane];
  }
}

void run_general(Wave& wave, const Inst& inst, const GeneralOp& op) {
  const VectorShape& shape = op.shape;
  const u64 exec = wave.exec();
  if (exec == 0 && !shape.flags) {
    return;
  }
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneArray buffers[3];
  Stage stage;
  for (unsigned i = 0; i < shape.sources; ++i) {
    const bool accumulator = shape.accumulates && i + 1 == shape.sources;
    stage.source[i] =
        stage_source(wave, inst, accumulator ? inst.dst : inst.src[i], i, shape.source[i],
                     accumulator ? SourceModifiers{} : modifiers_of(inst, i), mode, buffers[i]);
  }
  if (shape.takes_mask) {
    expand_mask(mask_source(wave, inst, shape.sources), stage.mask_in.lane);
  }
  op.kernel(stage, mode);
  const u64 lanes = inst.flags & inst_dpp ? dpp_lanes(inst.ext, exec).writable : exec;
  if (shape.result != Kind::none) {
    store_result(wave, inst, shape, mode, stage.result, lanes);
  }
  if (shape.flags) {
    set_scalar64(wave, mask_destination(inst), compress_mask(stage.flags.lane) & lanes);
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
