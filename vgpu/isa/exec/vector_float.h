// Floating-point operations on one lane that several families share, for any of the three widths.
//
// Invalid operations yield the host's default NaN, 0xffc00000, which is also what the manual
// gives for 0/0. Which of several NaN sources a result takes its payload from is the host's
// choice and may differ from hardware.
#pragma once

#include "isa/exec/vector_types.h"

namespace vgpu::isa::VGPU_ENGINE {

template <class T>
struct FloatBits;

template <>
struct FloatBits<float> {
  using Bits = u32;
  using Signed = i32;
  static constexpr int mantissa_bits = 23, bias = 127;
  static bool flush_in(const Mode& mode) { return mode.flush_in32; }
  static bool flush_out(const Mode& mode) { return mode.flush_out32; }
};

template <>
struct FloatBits<double> {
  using Bits = u64;
  using Signed = i64;
  static constexpr int mantissa_bits = 52, bias = 1023;
  static bool flush_in(const Mode& mode) { return mode.flush_in64; }
  static bool flush_out(const Mode& mode) { return mode.flush_out64; }
};

template <class T>
using BitsOf = typename FloatBits<T>::Bits;

template <class T>
constexpr BitsOf<T> sign_bit = BitsOf<T>{1} << (sizeof(T) * 8 - 1);
template <class T>
constexpr BitsOf<T> mantissa_mask = (BitsOf<T>{1} << FloatBits<T>::mantissa_bits) - 1;
template <class T>
constexpr BitsOf<T> exponent_mask = ~(sign_bit<T> | mantissa_mask<T>);
template <class T>
constexpr BitsOf<T> quiet_bit = BitsOf<T>{1} << (FloatBits<T>::mantissa_bits - 1);

template <class T>
BitsOf<T> bits_of(T value) {
  return std::bit_cast<BitsOf<T>>(value);
}
template <class T>
T from_bits(BitsOf<T> bits) {
  return std::bit_cast<T>(bits);
}

// Tests that do not depend on MXCSR.
template <class T>
bool is_nan(T value) {
  return (bits_of(value) & ~sign_bit<T>) > exponent_mask<T>;
}
template <class T>
bool is_infinite(T value) {
  return (bits_of(value) & ~sign_bit<T>) == exponent_mask<T>;
}
template <class T>
bool is_signalling(T value) {
  return is_nan(value) && (bits_of(value) & quiet_bit<T>) == 0;
}
template <class T>
T quieted(T value) {
  return from_bits<T>(bits_of(value) | quiet_bit<T>);
}
template <class T>
bool is_denormal_or_zero(T value) {
  return (bits_of(value) & exponent_mask<T>) == 0;
}
// The biased exponent.
template <class T>
int exponent_of(T value) {
  return static_cast<int>((bits_of(value) & exponent_mask<T>) >> FloatBits<T>::mantissa_bits);
}
template <class T>
T flushed(T value) {
  return from_bits<T>(is_denormal_or_zero(value) ? bits_of(value) & sign_bit<T> : bits_of(value));
}
// As a source of an operation that does not go through host arithmetic.
template <class T>
T flushed_source(T value, const Mode& mode) {
  return FloatBits<T>::flush_in(mode) ? flushed(value) : value;
}

// A denormal source of a conversion to a narrower format, which rounds to zero or to the smallest
// denormal: stands for any number that small, whatever MXCSR says about denormals of its own kind.
template <class T>
T narrowing_source(T value, const Mode& m) {
  const bool denormal = is_denormal_or_zero(value) && (bits_of(value) & mantissa_mask<T>) != 0;
  const T tiny = __builtin_copysign(T(sizeof(T) == 8 ? 0x1p-1000 : 0x1p-100), value);
  return denormal ? (FloatBits<T>::flush_in(m) ? flushed(value) : tiny) : value;
}

// A result of an operation that does not go through host arithmetic.
template <class T>
T flushed_result(T value, const Mode& mode) {
  return FloatBits<T>::flush_out(mode) ? flushed(value) : value;
}

// Limited to [0, 1], by the bits: comparing as numbers would flush denormals that MODE keeps.
template <class T>
T clamped(T value, bool nan_to_zero) {
  const BitsOf<T> bits = bits_of(value), one = bits_of(T(1));
  const BitsOf<T> limited = (bits & sign_bit<T>) != 0 ? 0 : bits > one ? one : bits;
  return from_bits<T>(!is_nan(value) ? limited : nan_to_zero ? 0 : bits);
}

// An integer that orders like the float, -0 below +0.
template <class T>
typename FloatBits<T>::Signed order_key(T value) {
  using Signed = typename FloatBits<T>::Signed;
  const auto bits = static_cast<Signed>(bits_of(value));
  return bits ^ ((bits >> (sizeof(T) * 8 - 1)) & static_cast<Signed>(~sign_bit<T>));
}

// V_MIN and V_MAX before denormals are flushed: a quiet NaN loses against a number; in IEEE mode a
// signalling NaN wins and is quieted.
template <class T, bool Maximum>
T extremum(T a, T b, const Mode& mode) {
  const bool first = Maximum ? order_key(a) >= order_key(b) : order_key(a) < order_key(b);
  T result = first ? a : b;
  result = is_nan(b) ? a : result;
  result = is_nan(a) ? b : result;
  const bool ieee = mode.ieee;
  result = ieee && is_signalling(b) ? quieted(b) : result;
  result = ieee && is_signalling(a) ? quieted(a) : result;
  return result;
}

template <class T>
T minimum(T a, T b, const Mode& m) {
  return flushed_result(extremum<T, false>(flushed_source(a, m), flushed_source(b, m), m), m);
}
template <class T>
T maximum(T a, T b, const Mode& m) {
  return flushed_result(extremum<T, true>(flushed_source(a, m), flushed_source(b, m), m), m);
}

// The extremum of three operands whose denormals have been seen to.
template <class T, bool Maximum>
T extremum3(T a, T b, T c, const Mode& m) {
  return extremum<T, Maximum>(extremum<T, Maximum>(a, b, m), c, m);
}
template <class T>
T minimum3(T a, T b, T c, const Mode& m) {
  return flushed_result(
      extremum3<T, false>(flushed_source(a, m), flushed_source(b, m), flushed_source(c, m), m), m);
}
template <class T>
T maximum3(T a, T b, T c, const Mode& m) {
  return flushed_result(
      extremum3<T, true>(flushed_source(a, m), flushed_source(b, m), flushed_source(c, m), m), m);
}

// The largest of the two that are left without the largest of all; with a NaN, the minimum.
template <class T>
T median3(T a, T b, T c, const Mode& m) {
  a = flushed_source(a, m);
  b = flushed_source(b, m);
  c = flushed_source(c, m);
  const auto largest = order_key(extremum3<T, true>(a, b, c, m));
  T result = extremum<T, true>(a, b, m);
  result = largest == order_key(b) ? extremum<T, true>(a, c, m) : result;
  result = largest == order_key(a) ? extremum<T, true>(b, c, m) : result;
  const bool nan = is_nan(a) || is_nan(b) || is_nan(c);
  return flushed_result(nan ? extremum3<T, false>(a, b, c, m) : result, m);
}

// x - floor(x), kept below 1 where rounding would reach it.
template <class T>
T fraction(T value) {
  const T below_one = from_bits<T>(bits_of(T(1)) - 1);
  const T result = value - __builtin_floor(value);
  return result > below_one ? below_one : result;
}
inline float fraction(float value) {
  const float below_one = 0x1.fffffep-1f;
  const float result = value - __builtin_floorf(value);
  return result > below_one ? below_one : result;
}

// The significand in [0.5, 1); zero, infinity and NaN unchanged.
template <class T>
T frexp_mantissa(T value, const Mode& mode) {
  using F = FloatBits<T>;
  value = flushed_source(value, mode);
  const BitsOf<T> bits = bits_of(value);
  const BitsOf<T> mantissa = bits & mantissa_mask<T>;
  const BitsOf<T> half_exponent = BitsOf<T>{F::bias - 1} << F::mantissa_bits;
  // A denormal's mantissa, read as an integer, becomes a float whose mantissa is the normalised
  // one.
  const T scaled = static_cast<T>(static_cast<typename F::Signed>(mantissa));
  const BitsOf<T> normal =
      (is_denormal_or_zero(value) ? bits_of(scaled) & mantissa_mask<T> : mantissa) | half_exponent;
  const bool unchanged = (bits & ~sign_bit<T>) == 0 || exponent_of(value) == 2 * F::bias + 1;
  const T quiet = is_nan(value) ? quieted(value) : value;
  return unchanged ? quiet : from_bits<T>(normal | (bits & sign_bit<T>));
}

// The exponent that goes with it; 0 for zero, infinity and NaN.
template <class T>
i32 frexp_exponent(T value, const Mode& mode) {
  using F = FloatBits<T>;
  value = flushed_source(value, mode);
  const BitsOf<T> mantissa = bits_of(value) & mantissa_mask<T>;
  const int exponent = exponent_of(value);
  const T scaled = static_cast<T>(static_cast<typename F::Signed>(mantissa));
  const int denormal = exponent_of(scaled) - F::bias + 2 - F::bias - F::mantissa_bits;
  const int normal = exponent - F::bias + 1;
  const int finite = exponent != 0 ? normal : mantissa != 0 ? denormal : 0;
  return exponent == 2 * F::bias + 1 ? 0 : finite;
}

}  // namespace vgpu::isa::VGPU_ENGINE
