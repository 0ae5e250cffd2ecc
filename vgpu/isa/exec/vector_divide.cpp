// The steps of a division: v_div_scale, v_div_fmas, v_div_fixup.
//
// The compiler divides by Newton-Raphson. v_div_scale brings numerator and denominator into a range
// where the iteration neither overflows nor loses bits and says in VCC whether the quotient must
// be scaled back, v_div_fmas does the last step and that scaling, and v_div_fixup replaces the
// result of special cases. In all of them source 1 is the denominator and source 2 the numerator.
#include "isa/exec/vector_float.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class T>
struct DivideRules;

template <>
struct DivideRules<float> {
  static constexpr int scale = 64;        // the power of two that operands are scaled by
  static constexpr int far_apart = 96;    // exponent difference that threatens to overflow
  static constexpr int tiny = 23;         // biased exponent of a numerator that loses bits
  static constexpr int underflow = -150;  // exponent difference below which the quotient is zero
};

template <>
struct DivideRules<double> {
  static constexpr int scale = 128;
  static constexpr int far_apart = 768;
  static constexpr int tiny = 53;
  static constexpr int underflow = -1075;
};

template <class T>
[[gnu::always_inline]] inline T power_of_two(int exponent) {
  using F = FloatBits<T>;
  return from_bits<T>(static_cast<BitsOf<T>>(exponent + F::bias) << F::mantissa_bits);
}

// Whether a / b is too small for a normal number, judged by exponents and significands: the
// division itself would round, and flush where MODE says so.
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_quotient_denormal(T a, T b) {
  using Bits = BitsOf<T>;
  const Mode keep;  // denormals
  const Bits bits_a = bits_of(a), bits_b = bits_of(b);
  const auto significand = [&](T value) {
    return bits_of(frexp_mantissa(value, keep)) & mantissa_mask<T>;
  };
  const i32 smaller = significand(a) < significand(b) ? 1 : 0;
  const i32 exponent = frexp_exponent(a, keep) - frexp_exponent(b, keep) - smaller;
  const Bits small = when<Bits>(exponent < 1 - FloatBits<T>::bias);
  const Bits number = ~(when_nan<T>(bits_a) | when_nan<T>(bits_b) | when_infinite<T>(bits_a));
  return number & (small | when_infinite<T>(bits_b));
}

// V_DIV_SCALE: source 0 repeats the operand, denominator or numerator, that is to be scaled. The
// manual's case order is kept. Where both 1/S1 and S2/S1 are denormal the manual scales the
// denominator up, which would overflow it; scaling it down is what makes the quotient come out
// right, and agrees with the case after it.
template <class T>
[[gnu::always_inline]] inline Flagged<T> divide_scale(T operand, T denominator, T numerator,
                                                      const Mode& mode) {
  using R = DivideRules<T>;
  using Bits = BitsOf<T>;
  const Bits s0 = source_bits(operand, mode);
  const Bits s1 = source_bits(denominator, mode);
  const Bits s2 = source_bits(numerator, mode);
  const Bits up = bits_of(from_bits<T>(s0) * power_of_two<T>(R::scale));
  const Bits down = bits_of(from_bits<T>(s0) * power_of_two<T>(-R::scale));
  const Bits for_denominator = when<Bits>(s0 == s1), for_numerator = when<Bits>(s0 == s2);
  const Bits reciprocal_denormal = when_quotient_denormal(T(1), from_bits<T>(s1));
  const Bits quotient_denormal = when_quotient_denormal(from_bits<T>(s2), from_bits<T>(s1));
  const i32 exponent1 = exponent_of(from_bits<T>(s1)), exponent2 = exponent_of(from_bits<T>(s2));

  // From the last case to the first, each overriding those after it.
  Bits value = choose<Bits>(when<Bits>(exponent2 <= R::tiny), up, s0);
  value = choose<Bits>(quotient_denormal, choose<Bits>(for_numerator, up, s0), value);
  const Bits keep = quotient_denormal & ~for_denominator;
  value = choose<Bits>(reciprocal_denormal, choose<Bits>(keep, s0, down), value);
  value = choose<Bits>(when_small<T>(s1), up, value);
  const Bits far = when<Bits>(exponent2 - exponent1 >= R::far_apart);
  value = choose<Bits>(far, choose<Bits>(for_denominator, up, s0), value);
  const Bits zero = when_zero<T>(s1) | when_zero<T>(s2);
  value = choose<Bits>(zero, exponent_mask<T> | quiet_bit<T>, value);
  const Bits flag = ((quotient_denormal & ~when_small<T>(s1)) | far) & ~zero;
  return {result_of<T>(value, mode), static_cast<u32>(flag)};
}

inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// V_DIV_FMAS: the last step, times 2^scale or 2^-scale if VCC says the quotient is scaled. Which
// way shows in the quotient itself: it was brought near 1 from above or from below.
template <class T>
[[gnu::always_inline]] inline T divide_fmas(T a, T b, T c, bool scaled) {
  using R = DivideRules<T>;
  const T sum = fused(a, b, c);
  const bool large = exponent_of(c) > FloatBits<T>::bias;
  const T factor = large ? power_of_two<T>(R::scale) : power_of_two<T>(-R::scale);
  const T rescaled = sum * factor;
  return scaled ? rescaled : sum;
}

// V_DIV_FIXUP. The iteration overflows to infinity or NaN where the quotient does; the manual's
// "exponent(S1) == 255: overflow" can only mean that, since special denominators come before it.
template <class T>
[[gnu::always_inline]] inline T divide_fixup(T quotient, T denominator, T numerator,
                                             const Mode& mode) {
  using Bits = BitsOf<T>;
  const Bits q = source_bits(quotient, mode);
  const Bits d = source_bits(denominator, mode);
  const Bits n = source_bits(numerator, mode);
  const Bits sign = (d ^ n) & sign_bit<T>;
  // Whether an inexact result is rounded away from zero: always when it overflows to nearest.
  const u8 round = FloatBits<T>::round(mode);
  const Bits away =
      choose<Bits>(when<Bits>(sign != 0), when<Bits>(round == 2), when<Bits>(round == 1));
  const Bits overflow = exponent_mask<T> - (~(away | when<Bits>(round == 0)) & 1);
  Bits result = magnitude<T>(q);
  result = choose<Bits>(when<Bits>(result >= exponent_mask<T>), overflow, result);
  const i32 difference = exponent_of(from_bits<T>(n)) - exponent_of(from_bits<T>(d));
  result = choose<Bits>(when<Bits>(difference < DivideRules<T>::underflow), away & 1, result);
  const Bits d_zero = when_zero<T>(d), n_zero = when_zero<T>(n);
  const Bits d_infinite = when_infinite<T>(d), n_infinite = when_infinite<T>(n);
  result &= ~(d_infinite | n_zero);
  result = choose<Bits>(d_zero | n_infinite, exponent_mask<T>, result) | sign;
  const Bits invalid = (d_zero & n_zero) | (d_infinite & n_infinite);
  result = choose<Bits>(invalid, sign_bit<T> | exponent_mask<T> | quiet_bit<T>, result);
  result = choose<Bits>(when_nan<T>(d), d | quiet_bit<T>, result);
  result = choose<Bits>(when_nan<T>(n), n | quiet_bit<T>, result);
  return result_of<T>(result, mode);
}

// f16 has no scaling steps: the quotient is computed in f32 and only special cases remain.
half divide_fixup_f16(half quotient, half denominator, half numerator) {
  const float d = denominator, n = numerator;
  const u32 sign = (bits_of(d) ^ bits_of(n)) & sign_bit<float>;
  u32 result = bits_of(quotient.value) & ~sign_bit<float>;
  const bool d_infinite = is_infinite(d), n_infinite = is_infinite(n);
  result = d_infinite || n == 0.0f ? 0 : result;
  result = d == 0.0f || n_infinite ? exponent_mask<float> : result;
  result |= sign;
  const bool invalid = (d == 0.0f && n == 0.0f) || (d_infinite && n_infinite);
  result = invalid ? 0xffc00000 : result;
  result = is_nan(d) ? bits_of(quieted(d)) : result;
  result = is_nan(n) ? bits_of(quieted(n)) : result;
  return half(from_bits<float>(result));
}

constexpr VectorRow kRows[] = {
    {Op::v_div_scale_f32,
     vop([](float a, float b, float c, const Mode& m) { return divide_scale(a, b, c, m); })},
    {Op::v_div_scale_f64,
     vop([](double a, double b, double c, const Mode& m) { return divide_scale(a, b, c, m); })},
    {Op::v_div_fmas_f32,
     vop([](float a, float b, float c, bool vcc) { return divide_fmas(a, b, c, vcc); })},
    {Op::v_div_fmas_f64,
     vop([](double a, double b, double c, bool vcc) { return divide_fmas(a, b, c, vcc); })},
    {Op::v_div_fixup_f32,
     vop([](float a, float b, float c, const Mode& m) { return divide_fixup(a, b, c, m); })},
    {Op::v_div_fixup_f64,
     vop([](double a, double b, double c, const Mode& m) { return divide_fixup(a, b, c, m); })},
    {Op::v_div_fixup_f16,
     vop<keeping_high>([](half a, half b, half c) { return divide_fixup_f16(a, b, c); })},
    {Op::v_div_fixup_legacy_f16,
     vop<rare>([](half a, half b, half c) { return divide_fixup_f16(a, b, c); })},
};

}  // namespace

std::span<const VectorRow> divide_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
