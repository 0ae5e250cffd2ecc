// Transcendental functions on one lane, in forms the compiler vectorises.
//
// Hardware gives about one ulp in f32. These compute in f64 and are right to the last bit but for
// rare ties, so results are within the tolerance any program must grant but not bit-identical to
// hardware.
#pragma once

#include "isa/exec/vector_float.h"

namespace vgpu::isa::VGPU_ENGINE {

// 2^x for |x| <= 1100.
inline double exp2_core(double x) {
  const double whole = __builtin_rint(x);  // any direction will do: the remainder is below 1
  const double t = (x - whole) * 0.693147180559945309417;
  // Taylor series; the first omitted term is below 2^-40 for |t| <= ln 2.
  double sum = 1.0 / 479001600;
  sum = sum * t + 1.0 / 39916800;
  sum = sum * t + 1.0 / 3628800;
  sum = sum * t + 1.0 / 362880;
  sum = sum * t + 1.0 / 40320;
  sum = sum * t + 1.0 / 5040;
  sum = sum * t + 1.0 / 720;
  sum = sum * t + 1.0 / 120;
  sum = sum * t + 1.0 / 24;
  sum = sum * t + 1.0 / 6;
  sum = sum * t + 0.5;
  sum = sum * t + 1.0;
  sum = sum * t + 1.0;
  const auto exponent = static_cast<i64>(static_cast<i32>(whole));
  return sum * std::bit_cast<double>(static_cast<u64>(1023 + exponent) << 52);
}

inline float exp2_f32(float x) {
  const float limited = x > 200.0f ? 200.0f : x < -200.0f ? -200.0f : x;
  const float result = static_cast<float>(exp2_core(is_nan(x) ? 0.0f : limited));
  // Too large is infinite in every rounding mode.
  return is_nan(x) ? quieted(x) : x >= 128.0f ? __builtin_inff() : result;
}

// log2 of a positive normal float.
inline double log2_core(float x) {
  // Split so that the significand lies in [sqrt(1/2), sqrt(2)).
  const u32 bits = bits_of(x);
  const i32 exponent = static_cast<i32>(bits - 0x3f3504f3) >> 23;
  const double m = from_bits<float>(bits - (static_cast<u32>(exponent) << 23));
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double sum = 1.0 / 17;
  sum = sum * z + 1.0 / 15;
  sum = sum * z + 1.0 / 13;
  sum = sum * z + 1.0 / 11;
  sum = sum * z + 1.0 / 9;
  sum = sum * z + 1.0 / 7;
  sum = sum * z + 1.0 / 5;
  sum = sum * z + 1.0 / 3;
  sum = sum * z + 1.0;
  constexpr double kTwoOverLn2 = 2.88539008177792681472;
  return static_cast<double>(exponent) + s * sum * kTwoOverLn2;
}

// log2 of a float that is not denormal.
inline float log2_f32(float x) {
  const u32 bits = bits_of(x);
  const u32 special = when<u32>(bits - 0x00800000 >= 0x7f000000);  // not positive and finite
  const float regular = from_bits<float>(choose<u32>(special, bits_of(1.0f), bits));
  u32 result = bits_of(static_cast<float>(log2_core(regular)));
  result = choose<u32>(special, 0xffc00000, result);  // of a negative number
  result = choose<u32>(when<u32>(bits == 0x7f800000), bits, result);
  result = choose<u32>(when_zero<float>(bits), 0xff800000, result);
  result = choose<u32>(when_nan<float>(bits), bits | quiet_bit<float>, result);
  return from_bits<float>(result);
}

// sin(2 pi x) for |x| <= 1/2.
inline double sin_turns_core(double x) {
  // sin is symmetric about a quarter turn.
  const double folded = x > 0.25 ? 0.5 - x : x < -0.25 ? -0.5 - x : x;
  const double t = folded * 6.28318530717958647693;
  const double z = t * t;
  double sum = -1.0 / 121645100408832000.0;
  sum = sum * z + 1.0 / 355687428096000.0;
  sum = sum * z - 1.0 / 1307674368000.0;
  sum = sum * z + 1.0 / 6227020800.0;
  sum = sum * z - 1.0 / 39916800.0;
  sum = sum * z + 1.0 / 362880.0;
  sum = sum * z - 1.0 / 5040.0;
  sum = sum * z + 1.0 / 120.0;
  sum = sum * z - 1.0 / 6.0;
  return t + t * z * sum;
}

// Arguments are in turns. Beyond 256 turns the result is that of 0; infinity gives NaN.
inline float sin_turns(float x) {
  const bool in_range = __builtin_fabsf(x) <= 256.0f;
  const double turns = in_range ? static_cast<double>(x) : 0.0;
  const double reduced = turns - __builtin_floor(turns + 0.5);
  const float result = static_cast<float>(sin_turns_core(reduced));
  const float special = is_infinite(x) ? from_bits<float>(0xffc00000) : quieted(x);
  return is_infinite(x) || is_nan(x) ? special : reduced == 0.0 ? x * 0.0f : result;
}

inline float cos_turns(float x) {
  const bool in_range = __builtin_fabsf(x) <= 256.0f;
  const double turns = (in_range ? static_cast<double>(x) : 0.0) + 0.25;
  const double reduced = turns - __builtin_floor(turns + 0.5);
  const float result = static_cast<float>(sin_turns_core(reduced));
  const float special = is_infinite(x) ? from_bits<float>(0xffc00000) : quieted(x);
  return is_infinite(x) || is_nan(x) ? special : result;
}

}  // namespace vgpu::isa::VGPU_ENGINE
