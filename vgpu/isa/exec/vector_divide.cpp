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
T power_of_two(int exponent) {
  using F = FloatBits<T>;
  return from_bits<T>(static_cast<BitsOf<T>>(exponent + F::bias) << F::mantissa_bits);
}

template <class T>
bool is_zero(T value) {
  return (bits_of(value) & ~sign_bit<T>) == 0;
}

// Whether a / b is too small for a normal number, judged by exponents and significands: the
// division itself would round, and flush where MODE says so.
template <class T>
bool quotient_is_denormal(T a, T b) {
  const Mode keep_denormals;
  const int difference = frexp_exponent(a, keep_denormals) - frexp_exponent(b, keep_denormals);
  const bool smaller = (bits_of(frexp_mantissa(a, keep_denormals)) & mantissa_mask<T>) <
                       (bits_of(frexp_mantissa(b, keep_denormals)) & mantissa_mask<T>);
  const bool small = difference - smaller < 1 - FloatBits<T>::bias;
  const bool number = !is_nan(a) && !is_nan(b) && !is_infinite(a);
  return number && (small || is_infinite(b));
}

// V_DIV_SCALE: source 0 repeats the operand, denominator or numerator, that is to be scaled. The
// manual's case order is kept. Where both 1/S1 and S2/S1 are denormal the manual scales the
// denominator up, which would overflow it; scaling it down is what makes the quotient come out
// right, and agrees with the case after it.
template <class T>
Flagged<T> divide_scale(T operand, T denominator, T numerator, const Mode& mode) {
  using R = DivideRules<T>;
  operand = flushed_source(operand, mode);
  denominator = flushed_source(denominator, mode);
  numerator = flushed_source(numerator, mode);
  const T up = operand * power_of_two<T>(R::scale);
  const T down = operand * power_of_two<T>(-R::scale);
  const bool for_denominator = bits_of(operand) == bits_of(denominator);
  const bool for_numerator = bits_of(operand) == bits_of(numerator);
  const bool reciprocal_denormal = quotient_is_denormal(T(1), denominator);
  const bool quotient_denormal = quotient_is_denormal(numerator, denominator);

  // From the last case to the first, each overriding those after it.
  T value = exponent_of(numerator) <= R::tiny ? up : operand;
  bool flag = false;
  value = quotient_denormal ? (for_numerator ? up : operand) : value;
  value = reciprocal_denormal ? (quotient_denormal && !for_denominator ? operand : down) : value;
  flag = quotient_denormal;
  const bool denominator_denormal = is_denormal_or_zero(denominator);
  value = denominator_denormal ? up : value;
  flag = flag && !denominator_denormal;
  const bool far = exponent_of(numerator) - exponent_of(denominator) >= R::far_apart;
  value = far ? (for_denominator ? up : operand) : value;
  flag = flag || far;
  const bool zero = is_zero(numerator) || is_zero(denominator);
  value = flushed_result(value, mode);
  value = zero ? from_bits<T>(exponent_mask<T> | quiet_bit<T>) : value;
  return {value, flag && !zero};
}

// V_DIV_FMAS: the last step, times 2^scale or 2^-scale if VCC says the quotient is scaled. Which
// way shows in the quotient itself: it was brought near 1 from above or from below.
template <class T>
T divide_fmas(T a, T b, T c, bool scaled) {
  using R = DivideRules<T>;
  const T sum = __builtin_fma(a, b, c);
  const bool large = exponent_of(c) > FloatBits<T>::bias;
  const T factor = power_of_two<T>(large ? R::scale : -R::scale);
  return scaled ? sum * factor : sum;
}
template <>
float divide_fmas(float a, float b, float c, bool scaled) {
  using R = DivideRules<float>;
  const float sum = __builtin_fmaf(a, b, c);
  const bool large = exponent_of(c) > FloatBits<float>::bias;
  const float factor = power_of_two<float>(large ? R::scale : -R::scale);
  return scaled ? sum * factor : sum;
}

// The magnitude of an underflowing or overflowing quotient in a rounding mode (0 nearest, 1 up,
// 2 down, 3 zero).
template <class T>
BitsOf<T> underflow_bits(bool negative, u8 round) {
  const bool away = (round == 1 && !negative) || (round == 2 && negative);
  return away ? 1 : 0;
}
template <class T>
BitsOf<T> overflow_bits(bool negative, u8 round) {
  const bool infinite = round == 0 || (round == 1 && !negative) || (round == 2 && negative);
  return exponent_mask<T> - (infinite ? 0 : 1);
}

// V_DIV_FIXUP. The iteration overflows to infinity or NaN where the quotient does; the manual's
// "exponent(S1) == 255: overflow" can only mean that, since special denominators come before it.
template <class T>
T divide_fixup(T quotient, T denominator, T numerator, u8 round, const Mode& mode) {
  quotient = flushed_source(quotient, mode);
  denominator = flushed_source(denominator, mode);
  numerator = flushed_source(numerator, mode);
  const BitsOf<T> sign = (bits_of(denominator) ^ bits_of(numerator)) & sign_bit<T>;
  const bool negative = sign != 0;
  BitsOf<T> result = bits_of(quotient) & ~sign_bit<T>;
  result = result >= exponent_mask<T> ? overflow_bits<T>(negative, round) : result;
  const int difference = exponent_of(numerator) - exponent_of(denominator);
  result = difference < DivideRules<T>::underflow ? underflow_bits<T>(negative, round) : result;
  const bool d_zero = is_zero(denominator), n_zero = is_zero(numerator);
  const bool d_infinite = is_infinite(denominator), n_infinite = is_infinite(numerator);
  result = d_infinite || n_zero ? 0 : result;
  result = d_zero || n_infinite ? exponent_mask<T> : result;
  result |= sign;
  const bool invalid = (d_zero && n_zero) || (d_infinite && n_infinite);
  result = invalid ? sign_bit<T> | exponent_mask<T> | quiet_bit<T> : result;
  result = is_nan(denominator) ? bits_of(quieted(denominator)) : result;
  result = is_nan(numerator) ? bits_of(quieted(numerator)) : result;
  return flushed_result(from_bits<T>(result), mode);
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
    {Op::v_div_fixup_f32, vop([](float a, float b, float c, const Mode& m) {
       return divide_fixup(a, b, c, m.round32, m);
     })},
    {Op::v_div_fixup_f64, vop([](double a, double b, double c, const Mode& m) {
       return divide_fixup(a, b, c, m.round64, m);
     })},
    {Op::v_div_fixup_f16,
     vop<keeping_high>([](half a, half b, half c) { return divide_fixup_f16(a, b, c); })},
    {Op::v_div_fixup_legacy_f16,
     vop<rare>([](half a, half b, half c) { return divide_fixup_f16(a, b, c); })},
};

}  // namespace

std::span<const VectorRow> divide_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
