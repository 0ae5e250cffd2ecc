// Single-precision arithmetic.
#include "isa/exec/vector_float.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// V_MAD and V_MAC round the product and ignore MODE.denorm: denormals are always flushed.
float mad(float a, float b, float c) {
  const float product = flushed(flushed(a) * flushed(b));
  return flushed(product + flushed(c));
}

// The legacy (DX9) product: zero times anything is zero.
float multiply_legacy(float a, float b) {
  return flushed(a) == 0.0f || flushed(b) == 0.0f ? 0.0f : a * b;
}

// x * 2^n, rounded once. Every f32 scaled by up to 2^400 is exact in double precision.
float scale(float value, i32 exponent) {
  const i32 limited = exponent > 400 ? 400 : exponent < -400 ? -400 : exponent;
  const double factor = std::bit_cast<double>(static_cast<u64>(1023 + limited) << 52);
  return static_cast<float>(static_cast<double>(value) * factor);
}

constexpr VectorRow kRows[] = {
    {Op::v_add_f32, vop([](float a, float b) { return a + b; })},
    {Op::v_sub_f32, vop([](float a, float b) { return a - b; })},
    {Op::v_subrev_f32, vop([](float a, float b) { return b - a; })},
    {Op::v_mul_f32, vop([](float a, float b) { return a * b; })},
    {Op::v_mul_legacy_f32, vop([](float a, float b) { return multiply_legacy(a, b); })},
    {Op::v_fma_f32, vop<hot>([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })},
    {Op::v_fmac_f32,
     vop<accumulating>([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })},
    {Op::v_mad_f32, vop<hot>([](float a, float b, float c) { return mad(a, b, c); })},
    {Op::v_mac_f32, vop<accumulating>([](float a, float b, float c) { return mad(a, b, c); })},
    // v_madmk: S0 * K + S1, v_madak: S0 * S1 + K; the decoder lists the sources in that order.
    {Op::v_madmk_f32, vop([](float a, float b, float c) { return mad(a, b, c); })},
    {Op::v_madak_f32, vop([](float a, float b, float c) { return mad(a, b, c); })},
    {Op::v_mad_legacy_f32, vop([](float a, float b, float c) {
       return flushed(flushed(multiply_legacy(flushed(a), flushed(b))) + flushed(c));
     })},
    {Op::v_min_f32, vop([](float a, float b, const Mode& m) { return minimum(a, b, m); })},
    {Op::v_max_f32, vop([](float a, float b, const Mode& m) { return maximum(a, b, m); })},
    {Op::v_min3_f32,
     vop([](float a, float b, float c, const Mode& m) { return minimum3(a, b, c, m); })},
    {Op::v_max3_f32,
     vop([](float a, float b, float c, const Mode& m) { return maximum3(a, b, c, m); })},
    {Op::v_med3_f32,
     vop([](float a, float b, float c, const Mode& m) { return median3(a, b, c, m); })},
    {Op::v_fract_f32, vop([](float a) { return fraction(a); })},
    {Op::v_trunc_f32, vop([](float a) { return __builtin_truncf(a); })},
    {Op::v_ceil_f32, vop([](float a) { return __builtin_ceilf(a); })},
    {Op::v_floor_f32, vop([](float a) { return __builtin_floorf(a); })},
    {Op::v_rndne_f32, vop([](float a) { return round_to_even(a); })},
    {Op::v_ldexp_f32, vop([](float a, i32 b) { return scale(a, b); })},
    {Op::v_frexp_mant_f32, vop([](float a, const Mode& m) { return frexp_mantissa(a, m); })},
    {Op::v_frexp_exp_i32_f32, vop([](float a, const Mode& m) { return frexp_exponent(a, m); })},
};

}  // namespace

std::span<const VectorRow> f32_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
