// Floating-point operations on one lane that several families share, for f32 and f64.
//
// Conditions are words, all ones or zero, and choices are made by masking: in that form the
// compiler vectorises every one of them, which it does not do for chains of bools and branches.
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
  static u8 round(const Mode& mode) { return mode.round32; }
};

template <>
struct FloatBits<double> {
  using Bits = u64;
  using Signed = i64;
  static constexpr int mantissa_bits = 52, bias = 1023;
  static bool flush_in(const Mode& mode) { return mode.flush_in64; }
  static bool flush_out(const Mode& mode) { return mode.flush_out64; }
  static u8 round(const Mode& mode) { return mode.round64; }
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

// ---- words as conditions ----

template <class Bits>
[[gnu::always_inline]] inline Bits when(bool condition) {
  return condition ? ~Bits{0} : Bits{0};
}
template <class Bits>
[[gnu::always_inline]] inline Bits choose(Bits condition, Bits yes, Bits no) {
  return no ^ ((yes ^ no) & condition);
}

template <class T>
[[gnu::always_inline]] inline BitsOf<T> magnitude(BitsOf<T> bits) {
  return bits & ~sign_bit<T>;
}
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_nan(BitsOf<T> bits) {
  return when<BitsOf<T>>(magnitude<T>(bits) > exponent_mask<T>);
}
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_infinite(BitsOf<T> bits) {
  return when<BitsOf<T>>(magnitude<T>(bits) == exponent_mask<T>);
}
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_zero(BitsOf<T> bits) {
  return when<BitsOf<T>>(magnitude<T>(bits) == 0);
}
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_signalling(BitsOf<T> bits) {
  return when_nan<T>(bits) & when<BitsOf<T>>((bits & quiet_bit<T>) == 0);
}
// Zero or denormal.
template <class T>
[[gnu::always_inline]] inline BitsOf<T> when_small(BitsOf<T> bits) {
  return when<BitsOf<T>>((bits & exponent_mask<T>) == 0);
}
template <class T>
[[gnu::always_inline]] inline BitsOf<T> flushed_bits(BitsOf<T> bits, BitsOf<T> condition) {
  return bits & ~(when_small<T>(bits) & condition & ~sign_bit<T>);
}

// ---- simple predicates and conversions that do not depend on MXCSR ----

template <class T>
bool is_nan(T value) {
  return magnitude<T>(bits_of(value)) > exponent_mask<T>;
}
template <class T>
bool is_infinite(T value) {
  return magnitude<T>(bits_of(value)) == exponent_mask<T>;
}
template <class T>
T quieted(T value) {
  return from_bits<T>(bits_of(value) | quiet_bit<T>);
}
// The biased exponent.
template <class T>
int exponent_of(T value) {
  return static_cast<int>((bits_of(value) & exponent_mask<T>) >> FloatBits<T>::mantissa_bits);
}
template <class T>
[[gnu::always_inline]] inline T flushed(T value) {
  return from_bits<T>(flushed_bits<T>(bits_of(value), ~BitsOf<T>{0}));
}
// As a source, or as a result, of an operation that does not go through host arithmetic.
template <class T>
[[gnu::always_inline]] inline T flushed_source(T value, const Mode& mode) {
  const auto condition = when<BitsOf<T>>(FloatBits<T>::flush_in(mode));
  return from_bits<T>(flushed_bits<T>(bits_of(value), condition));
}
template <class T>
[[gnu::always_inline]] inline T flushed_result(T value, const Mode& mode) {
  const auto condition = when<BitsOf<T>>(FloatBits<T>::flush_out(mode));
  return from_bits<T>(flushed_bits<T>(bits_of(value), condition));
}

// The source of a conversion to a narrower format. A denormal rounds to zero or to the smallest
// number there: it is replaced by another number as small, which is not denormal, so that it does
// not matter what MXCSR says about denormals of its own kind.
template <class T>
[[gnu::always_inline]] inline T narrowing_source(T value, const Mode& mode) {
  using Bits = BitsOf<T>;
  const Bits bits = bits_of(flushed_source(value, mode));
  const Bits tiny = bits_of(T(sizeof(T) == 8 ? 0x1p-1000 : 0x1p-100)) | (bits & sign_bit<T>);
  return from_bits<T>(choose<Bits>(when_small<T>(bits) & ~when_zero<T>(bits), tiny, bits));
}

// Limited to [0, 1], by the bits: comparing as numbers would flush denormals that MODE keeps.
template <class T>
[[gnu::always_inline]] inline T clamped(T value, bool nan_to_zero) {
  using Bits = BitsOf<T>;
  const Bits bits = bits_of(value), one = bits_of(T(1));
  const Bits limited = choose<Bits>(when<Bits>(magnitude<T>(bits) > one), one, bits) &
                       when<Bits>((bits & sign_bit<T>) == 0);
  return from_bits<T>(choose<Bits>(when_nan<T>(bits), bits & ~when<Bits>(nan_to_zero), limited));
}

// An integer that orders like the float, -0 below +0.
template <class T>
[[gnu::always_inline]] inline typename FloatBits<T>::Signed order_key(BitsOf<T> bits) {
  using Signed = typename FloatBits<T>::Signed;
  const Signed low = static_cast<Signed>(magnitude<T>(bits));
  return (bits & sign_bit<T>) != 0 ? ~low : low;
}

// V_MIN and V_MAX before denormals are flushed: a quiet NaN loses against a number; in IEEE mode a
// signalling NaN wins and is quieted.
template <class T, bool Maximum>
[[gnu::always_inline]] inline BitsOf<T> extremum(BitsOf<T> a, BitsOf<T> b, const Mode& mode) {
  using Bits = BitsOf<T>;
  const auto key_a = order_key<T>(a), key_b = order_key<T>(b);
  Bits result = choose<Bits>(when<Bits>(Maximum ? key_a > key_b : key_a < key_b), a, b);
  result = choose<Bits>(when_nan<T>(b), a, result);
  result = choose<Bits>(when_nan<T>(a), b, result);
  const Bits ieee = when<Bits>(mode.ieee);
  result = choose<Bits>(ieee & when_signalling<T>(b), b | quiet_bit<T>, result);
  return choose<Bits>(ieee & when_signalling<T>(a), a | quiet_bit<T>, result);
}

template <class T, bool Maximum>
[[gnu::always_inline]] inline BitsOf<T> extremum3(BitsOf<T> a, BitsOf<T> b, BitsOf<T> c,
                                                  const Mode& mode) {
  return extremum<T, Maximum>(extremum<T, Maximum>(a, b, mode), c, mode);
}

// A source's bits, and the float that a result's bits make.
template <class T>
[[gnu::always_inline]] inline BitsOf<T> source_bits(T value, const Mode& mode) {
  return bits_of(flushed_source(value, mode));
}
template <class T>
[[gnu::always_inline]] inline T result_of(BitsOf<T> bits, const Mode& mode) {
  return flushed_result(from_bits<T>(bits), mode);
}

template <class T>
[[gnu::always_inline]] inline T minimum(T a, T b, const Mode& m) {
  return result_of<T>(extremum<T, false>(source_bits(a, m), source_bits(b, m), m), m);
}
template <class T>
[[gnu::always_inline]] inline T maximum(T a, T b, const Mode& m) {
  return result_of<T>(extremum<T, true>(source_bits(a, m), source_bits(b, m), m), m);
}
template <class T>
[[gnu::always_inline]] inline T minimum3(T a, T b, T c, const Mode& m) {
  return result_of<T>(
      extremum3<T, false>(source_bits(a, m), source_bits(b, m), source_bits(c, m), m), m);
}
template <class T>
[[gnu::always_inline]] inline T maximum3(T a, T b, T c, const Mode& m) {
  return result_of<T>(
      extremum3<T, true>(source_bits(a, m), source_bits(b, m), source_bits(c, m), m), m);
}

// The larger of the two that are left without the largest; with a NaN, the minimum of all.
template <class T>
[[gnu::always_inline]] inline T median3(T a_in, T b_in, T c_in, const Mode& m) {
  using Bits = BitsOf<T>;
  const Bits a = source_bits(a_in, m), b = source_bits(b_in, m), c = source_bits(c_in, m);
  const Bits largest = extremum3<T, true>(a, b, c, m);
  Bits result = extremum<T, true>(a, b, m);
  result = choose<Bits>(when<Bits>(largest == b), extremum<T, true>(a, c, m), result);
  result = choose<Bits>(when<Bits>(largest == a), extremum<T, true>(b, c, m), result);
  const Bits nan = when_nan<T>(a) | when_nan<T>(b) | when_nan<T>(c);
  return result_of<T>(choose<Bits>(nan, extremum3<T, false>(a, b, c, m), result), m);
}

inline float floor_of(float value) { return __builtin_floorf(value); }
inline double floor_of(double value) { return __builtin_floor(value); }

// x - floor(x), kept below 1 where rounding would reach it.
template <class T>
T fraction(T value) {
  const T below_one = from_bits<T>(bits_of(T(1)) - 1);
  const T result = value - floor_of(value);
  return result > below_one ? below_one : result;
}

// To the nearest integer, ties to even, in every rounding mode. The compiler vectorises floor, but
// not roundeven. The remainder is exact but for tiny negative numbers, where it is near 1 anyway.
template <class T>
[[gnu::always_inline]] inline T round_to_even(T value) {
  using Bits = BitsOf<T>;
  const T below = floor_of(value);
  const T rest = value - below;
  const Bits odd = when<Bits>(floor_of(below * T(0.5)) * T(2) != below);
  const Bits up = when<Bits>(rest > T(0.5)) | (when<Bits>(rest == T(0.5)) & odd);
  const T rounded = below + from_bits<T>(up & bits_of(T(1)));
  const Bits sign = bits_of(value) & sign_bit<T>;
  const Bits result = magnitude<T>(bits_of(rounded)) | sign;
  const Bits special = when<Bits>(magnitude<T>(bits_of(value)) >= exponent_mask<T>);
  const Bits quiet = bits_of(value) | (when_nan<T>(bits_of(value)) & quiet_bit<T>);
  return from_bits<T>(choose<Bits>(special, quiet, result));
}

// The significand of a denormal, read as an integer and converted, has the normalised mantissa and
// tells the exponent.
template <class T>
[[gnu::always_inline]] inline BitsOf<T> normalised(BitsOf<T> bits) {
  using Signed = typename FloatBits<T>::Signed;
  return bits_of(static_cast<T>(static_cast<Signed>(bits & mantissa_mask<T>)));
}

// The significand in [0.5, 1); zero, infinity and NaN unchanged.
template <class T>
[[gnu::always_inline]] inline T frexp_mantissa(T value, const Mode& mode) {
  using F = FloatBits<T>;
  using Bits = BitsOf<T>;
  const Bits bits = source_bits(value, mode);
  const Bits mantissa = choose<Bits>(when_small<T>(bits), normalised<T>(bits), bits);
  const Bits normal =
      (mantissa & mantissa_mask<T>) | (bits & sign_bit<T>) | Bits{F::bias - 1} << F::mantissa_bits;
  const Bits quiet = bits | (when_nan<T>(bits) & quiet_bit<T>);
  const Bits unchanged = when_zero<T>(bits) | when<Bits>(magnitude<T>(bits) >= exponent_mask<T>);
  return from_bits<T>(choose<Bits>(unchanged, quiet, normal));
}

// The exponent that goes with it; 0 for zero, infinity and NaN.
template <class T>
[[gnu::always_inline]] inline i32 frexp_exponent(T value, const Mode& mode) {
  using F = FloatBits<T>;
  using Bits = BitsOf<T>;
  const Bits bits = source_bits(value, mode);
  const Bits field = (bits & exponent_mask<T>) >> F::mantissa_bits;
  const Bits small = normalised<T>(bits) >> F::mantissa_bits;
  // Of a denormal: its integer mantissa counts units of 2^(1 - bias - mantissa_bits).
  const Bits denormal = small - Bits{2 * F::bias + F::mantissa_bits - 2};
  const Bits finite = choose<Bits>(when_small<T>(bits), denormal, field - Bits{F::bias - 1});
  const Bits none = when_zero<T>(bits) | when<Bits>(magnitude<T>(bits) >= exponent_mask<T>);
  return static_cast<i32>(finite & ~none);
}

}  // namespace vgpu::isa::VGPU_ENGINE
