// Mixed precision (v_fma_mix) and dot products.
//
// The order in which hardware adds the products of a dot product is not documented; here they are
// added from the lowest element on, each fused. Integer dot products are exact either way.
#include "isa/exec/vector_half.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

bool bit(u32 word, unsigned index) { return (word >> index & 1) != 0; }

// ---- v_fma_mix ----

// op_sel_hi makes a source half precision, op_sel then picks its half; neg_hi is abs.
void stage_mix_source(Wave& wave, const Inst& inst, unsigned index, const Mode& mode,
                      LaneArray& out) {
  const bool is_half = bit(inst.opsel_hi, index);
  const SourceModifiers modifiers = {.neg = bit(inst.neg, index),
                                     .abs = bit(inst.neg_hi, index),
                                     .high = is_half && bit(inst.opsel, index)};
  const void* staged = stage_source(wave, inst, inst.src[index], index,
                                    is_half ? Kind::f16 : Kind::f32, modifiers, mode, out);
  if (staged != &out) {
    std::memcpy(&out, staged, kLanes * sizeof(float));
  }
}

void fma_mix_lanes(Wave& wave, const Inst& inst, const Mode& mode, LaneArray& result) {
  LaneArray a, b, c;
  stage_mix_source(wave, inst, 0, mode, a);
  stage_mix_source(wave, inst, 1, mode, b);
  stage_mix_source(wave, inst, 2, mode, c);
  for (int lane = 0; lane < kLanes; ++lane) {
    result.as<float>()[lane] =
        __builtin_fmaf(a.as<float>()[lane], b.as<float>()[lane], c.as<float>()[lane]);
  }
}

[[gnu::noinline]] void fma_mix(Wave& wave, const Inst& inst) {
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneArray result;
  fma_mix_lanes(wave, inst, mode, result);
  modify_result(inst, Kind::f32, mode, result);
  store_lanes(vector(wave, inst.dst), result.as<u32>(), wave.exec());
}

// Rounds to f16; MODE's f16 half applies, so this runs apart from the multiplication.
[[gnu::noinline]] void round_to_halves(const Mode& mode, const LaneArray& result, u32* bits) {
  short_result_bits(Kind::f16, mode, result, bits);
}

// The result goes to one half of the register, the other stays.
template <bool High>
void fma_mix_half(Wave& wave, const Inst& inst) {
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneArray result;
  LaneBuffer bits;
  fma_mix_lanes(wave, inst, mode, result);
  modify_result(inst, Kind::f16, mode, result);
  for (int lane = 0; lane < kLanes; ++lane) {
    result.as<float>()[lane] = narrowing_source(result.as<float>()[lane], Mode{});
  }
  {
    const DoubleMode scope(wave);
    round_to_halves(mode, result, bits.lane);
  }
  u32* destination = vector(wave, inst.dst);
  for (int lane = 0; lane < kLanes; ++lane) {
    bits.lane[lane] = High ? bits.lane[lane] << 16 | (destination[lane] & 0xffff)
                           : bits.lane[lane] | (destination[lane] & 0xffff0000);
  }
  store_lanes(destination, bits.lane, wave.exec());
}

// ---- dot products ----

float dot2(float a0, float b0, float a1, float b1, float c) {
  return __builtin_fmaf(a1, b1, __builtin_fmaf(a0, b0, c));
}

float low_half(Raw<half2> a, const Mode& m) { return exact_half({static_cast<u16>(a.bits)}, m); }
float high_half(Raw<half2> a, const Mode& m) {
  return exact_half({static_cast<u16>(a.bits >> 16)}, m);
}

// V_DOT2_F32_F16 with the packed modifiers on its halves.
[[gnu::noinline]] void dot2_f32_f16(Wave& wave, const Inst& inst) {
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneArray buffer[5];
  const float* half_lanes[2][2];
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned part = 0; part < 2; ++part) {
      const SourceModifiers modifiers = {.neg = bit(part == 0 ? inst.neg : inst.neg_hi, i),
                                         .high = bit(part == 0 ? inst.opsel : inst.opsel_hi, i)};
      half_lanes[i][part] = static_cast<const float*>(stage_source(
          wave, inst, inst.src[i], i, Kind::f16, modifiers, mode, buffer[2 * i + part]));
    }
  }
  const auto* c = static_cast<const float*>(stage_source(
      wave, inst, inst.src[2], 2, Kind::f32, {.neg = bit(inst.neg, 2)}, mode, buffer[4]));
  LaneArray result;
  for (int lane = 0; lane < kLanes; ++lane) {
    result.as<float>()[lane] = dot2(half_lanes[0][0][lane], half_lanes[1][0][lane],
                                    half_lanes[0][1][lane], half_lanes[1][1][lane], c[lane]);
  }
  modify_result(inst, Kind::f32, mode, result);
  store_lanes(vector(wave, inst.dst), result.as<u32>(), wave.exec());
}

// The i-th of the fields of Width bits in a word, as Signed says.
template <int Width, bool Signed>
i64 field(u32 word, int index) {
  const u32 top = word << (32 - Width * (index + 1));
  return Signed ? static_cast<i32>(top) >> (32 - Width) : static_cast<i64>(top >> (32 - Width));
}

template <int Width, bool Signed>
u32 dot(u32 a, u32 b, u32 c, const Mode& m) {
  i64 sum = Signed ? static_cast<i64>(static_cast<i32>(c)) : static_cast<i64>(c);
  for (int i = 0; i < 32 / Width; ++i) {
    sum += field<Width, Signed>(a, i) * field<Width, Signed>(b, i);
  }
  const i64 low = Signed ? -0x80000000ll : 0, high = Signed ? 0x7fffffff : 0xffffffff;
  const i64 limited = sum > high ? high : sum < low ? low : sum;
  return static_cast<u32>(m.clamp ? limited : sum);
}

constexpr auto dot2_i16 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<16, true>(a, b, c, m);
};
constexpr auto dot2_u16 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<16, false>(a, b, c, m);
};
constexpr auto dot4_i8 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<8, true>(a, b, c, m);
};
constexpr auto dot4_u8 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<8, false>(a, b, c, m);
};
constexpr auto dot8_i4 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<4, true>(a, b, c, m);
};
constexpr auto dot8_u4 = [](u32 a, u32 b, u32 c, const Mode& m) {
  return dot<4, false>(a, b, c, m);
};

constexpr VectorRow kRows[] = {
    {Op::v_fma_mix_f32, by_hand(fma_mix)},
    {Op::v_fma_mixlo_f16, by_hand(fma_mix_half<false>)},
    {Op::v_fma_mixhi_f16, by_hand(fma_mix_half<true>)},
    {Op::v_dot2_f32_f16, by_hand(dot2_f32_f16)},
    {Op::v_dot2_i32_i16, vop(dot2_i16)},
    {Op::v_dot2_u32_u16, vop(dot2_u16)},
    {Op::v_dot4_i32_i8, vop(dot4_i8)},
    {Op::v_dot4_u32_u8, vop(dot4_u8)},
    {Op::v_dot8_i32_i4, vop(dot8_i4)},
    {Op::v_dot8_u32_u4, vop(dot8_u4)},
    {Op::v_dot2c_f32_f16, vop<accumulating>([](Raw<half2> a, Raw<half2> b, float c, const Mode& m) {
       return dot2(low_half(a, m), low_half(b, m), high_half(a, m), high_half(b, m), c);
     })},
    {Op::v_dot2c_i32_i16, vop<accumulating>(dot2_i16)},
    {Op::v_dot4c_i32_i8, vop<accumulating>(dot4_i8)},
    {Op::v_dot8c_i32_i4, vop<accumulating>(dot8_i4)},
};

}  // namespace

std::span<const VectorRow> mix_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
