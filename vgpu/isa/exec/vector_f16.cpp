// Half-precision arithmetic. Operands arrive widened to f32; results are rounded when written.
#include "isa/exec/vector_half.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// What a result will be once it is written, for operations that round in the middle.
float rounded(float value) { return half_to_float(float_to_half(value)); }

float flushed_half(float value) {
  return __builtin_fabsf(value) < 0x1p-14f ? __builtin_copysignf(0.0f, value) : value;
}

// V_MAD and V_MAC round the product and flush denormals always.
half mad(half a, half b, half c) {
  const float product = flushed_half(rounded(flushed_half(a) * flushed_half(b)));
  return half(flushed_half(rounded(product + flushed_half(c))));
}

half fraction_f16(float value) {
  const float result = value - __builtin_floorf(value);
  return half(result > 0x1.ffcp-1f ? 0x1.ffcp-1f : result);  // the half below 1
}

// x * 2^n. Beyond 2^60 either way every half is infinite or zero, and f32 still holds it.
half scale(half value, i16 exponent) {
  const i32 limited = exponent > 60 ? 60 : exponent < -60 ? -60 : exponent;
  return half(value * std::bit_cast<float>(static_cast<u32>(127 + limited) << 23));
}

constexpr VectorRow kRows[] = {
    {Op::v_add_f16, vop([](half a, half b) { return half(a + b); })},
    {Op::v_sub_f16, vop([](half a, half b) { return half(a - b); })},
    {Op::v_subrev_f16, vop([](half a, half b) { return half(b - a); })},
    {Op::v_mul_f16, vop([](half a, half b) { return half(a * b); })},
    {Op::v_fma_f16, vop<keeping_high>([](half a, half b, half c) { return fma_f16(a, b, c); })},
    {Op::v_fma_legacy_f16, vop([](half a, half b, half c) { return fma_f16(a, b, c); })},
    {Op::v_mad_f16, vop<keeping_high>([](half a, half b, half c) { return mad(a, b, c); })},
    {Op::v_mad_legacy_f16, vop([](half a, half b, half c) { return mad(a, b, c); })},
    {Op::v_mac_f16, vop<accumulating>([](half a, half b, half c) { return mad(a, b, c); })},
    {Op::v_madmk_f16, vop([](half a, half b, half c) { return mad(a, b, c); })},
    {Op::v_madak_f16, vop([](half a, half b, half c) { return mad(a, b, c); })},
    {Op::v_min_f16,
     vop([](Raw<half> a, Raw<half> b, const Mode& m) { return minimum_f16(a, b, m); })},
    {Op::v_max_f16,
     vop([](Raw<half> a, Raw<half> b, const Mode& m) { return maximum_f16(a, b, m); })},
    {Op::v_min3_f16, vop<keeping_high>([](Raw<half> a, Raw<half> b, Raw<half> c, const Mode& m) {
       return half(minimum3(exact_half(a, m), exact_half(b, m), exact_half(c, m), m));
     })},
    {Op::v_max3_f16, vop<keeping_high>([](Raw<half> a, Raw<half> b, Raw<half> c, const Mode& m) {
       return half(maximum3(exact_half(a, m), exact_half(b, m), exact_half(c, m), m));
     })},
    {Op::v_med3_f16, vop<keeping_high>([](Raw<half> a, Raw<half> b, Raw<half> c, const Mode& m) {
       return half(median3(exact_half(a, m), exact_half(b, m), exact_half(c, m), m));
     })},
    {Op::v_fract_f16, vop([](half a) { return fraction_f16(a); })},
    {Op::v_trunc_f16, vop([](half a) { return half(__builtin_truncf(a)); })},
    {Op::v_ceil_f16, vop([](half a) { return half(__builtin_ceilf(a)); })},
    {Op::v_floor_f16, vop([](half a) { return half(__builtin_floorf(a)); })},
    {Op::v_rndne_f16, vop([](half a) { return half(round_to_even(a.value)); })},
    {Op::v_ldexp_f16, vop([](half a, i16 b) { return scale(a, b); })},
    {Op::v_frexp_mant_f16,
     vop([](half a, const Mode& m) { return half(frexp_mantissa(a.value, m)); })},
    {Op::v_frexp_exp_i16_f16,
     vop([](half a, const Mode& m) { return static_cast<i16>(frexp_exponent(a.value, m)); })},
    // The halves keep their bits, signalling NaNs included.
    {Op::v_pack_b32_f16, vop([](Raw<half> a, Raw<half> b) { return a.bits | u32{b.bits} << 16; })},
};

}  // namespace

std::span<const VectorRow> f16_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
