// Double-precision arithmetic.
#include "isa/exec/vector_float.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

double power_of_two(i32 exponent) {  // of a normal number
  return std::bit_cast<double>(static_cast<u64>(1023 + exponent) << 52);
}

// x * 2^n, rounded once: the significand goes to the smallest normal exponent at most in the first
// step, which is exact, and the rest of the way in the second.
double scale(double value, i32 exponent, const Mode& mode) {
  const double mantissa = frexp_mantissa(value, mode) * 2.0;  // [1, 2), or zero, infinity, NaN
  const i32 limited = exponent > 5000 ? 5000 : exponent < -5000 ? -5000 : exponent;
  const i32 target = frexp_exponent(value, mode) - 1 + limited;
  const i32 first = target > 1023 ? 1023 : target < -1022 ? -1022 : target;
  const i32 second = target - first;
  const i32 rest = second > 1023 ? 1023 : second < -1022 ? -1022 : second;
  const double result = mantissa * power_of_two(first) * power_of_two(rest);
  return exponent_of(value) == 2047 ? mantissa : result;
}

// The bits of 2/pi behind the point, from the most significant on.
constexpr u64 kTwoOverPi[] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561,
    0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
    0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b,
    0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab};

// V_TRIG_PREOP_F64: 53 bits of 2/pi for the reduction of a large argument: segment `index`, moved
// on by the argument's exponent above 1077 (manual, V_TRIG_PREOP_F64).
double trig_preop(double value, u32 index) {
  const int exponent = exponent_of(value);
  u32 shift = (index & 31) * 53;
  if (exponent > 1077) {
    shift += static_cast<u32>(exponent - 1077);
  }
  // The table holds 1201 bits in hardware; what lies beyond reads as zero.
  u64 segment = 0;
  for (u32 i = 0; i < 53; ++i) {
    const u32 position = shift + i;
    const u64 bit = position < 1201 ? kTwoOverPi[position / 64] >> (63 - position % 64) & 1 : 0;
    segment = segment << 1 | bit;
  }
  i32 scale_by = -53 - static_cast<i32>(shift);
  if (exponent >= 1968) {
    scale_by += 128;
  }
  return __builtin_ldexp(static_cast<double>(segment), scale_by);
}

// Overflows to infinity in every rounding mode.
double reciprocal(double value) {
  const double infinite = __builtin_copysign(__builtin_inf(), value);
  return __builtin_fabs(value) <= 0x1p-1024 ? infinite : 1.0 / value;
}

constexpr VectorRow kRows[] = {
    {Op::v_add_f64, vop<hot>([](double a, double b) { return a + b; })},
    {Op::v_mul_f64, vop<hot>([](double a, double b) { return a * b; })},
    {Op::v_fma_f64, vop<hot>([](double a, double b, double c) { return __builtin_fma(a, b, c); })},
    {Op::v_fmac_f64,
     vop<accumulating>([](double a, double b, double c) { return __builtin_fma(a, b, c); })},
    {Op::v_min_f64, vop([](double a, double b, const Mode& m) { return minimum(a, b, m); })},
    {Op::v_max_f64, vop([](double a, double b, const Mode& m) { return maximum(a, b, m); })},
    {Op::v_fract_f64, vop([](double a) { return fraction(a); })},
    {Op::v_trunc_f64, vop([](double a) { return __builtin_trunc(a); })},
    {Op::v_ceil_f64, vop([](double a) { return __builtin_ceil(a); })},
    {Op::v_floor_f64, vop([](double a) { return __builtin_floor(a); })},
    {Op::v_rndne_f64, vop([](double a) { return round_to_even(a); })},
    {Op::v_ldexp_f64, vop([](double a, i32 b, const Mode& m) { return scale(a, b, m); })},
    {Op::v_frexp_mant_f64, vop([](double a, const Mode& m) { return frexp_mantissa(a, m); })},
    {Op::v_frexp_exp_i32_f64, vop([](double a, const Mode& m) { return frexp_exponent(a, m); })},
    {Op::v_rcp_f64, vop([](double a) { return reciprocal(a); })},
    {Op::v_rsq_f64, vop([](double a) { return 1.0 / __builtin_sqrt(a); })},
    {Op::v_sqrt_f64, vop([](double a) { return __builtin_sqrt(a); })},
    {Op::v_trig_preop_f64, vop<rare>([](double a, u32 b) { return trig_preop(a, b); })},
};

}  // namespace

std::span<const VectorRow> f64_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
