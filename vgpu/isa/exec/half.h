// Half precision on a host that computes in single precision.
//
// The executors widen f16 lanes to f32, compute there and round once when the result is written.
// For add, sub, mul, div and sqrt rounding twice is harmless (24 >= 2 * 11 + 2 bits); fused
// multiply-add goes through f64 (fma_f16), where the sum of an 11-bit and a 22-bit value is either
// exact or too far from a rounding boundary of f16 to matter.
#pragma once

#include <immintrin.h>

#include <bit>

#include "isa/wave.h"
#include "libc/types.h"

namespace vgpu::isa::VGPU_ENGINE {

// An f16 operand or result of an operation: held in f32, rounded by the caller.
struct half {
  float value;
  half() = default;
  half(float v) : value(v) {}               // NOLINT(google-explicit-constructor)
  operator float() const { return value; }  // NOLINT(google-explicit-constructor)
};

// One half to float with integer operations only, so that loops vectorise and MXCSR.DAZ does not
// reach the intermediate values.
inline float half_to_float(u32 bits) {
  const u32 magnitude = bits & 0x7fff;
  const u32 sign = (bits & 0x8000) << 16;
  const u32 normal = (magnitude << 13) + (112u << 23);
  const u32 special = (magnitude << 13) | 0x7f800000;  // infinity and NaN
  const u32 denormal =
      std::bit_cast<u32>(static_cast<float>(static_cast<i32>(magnitude)) * 0x1p-24f);
  const u32 result = magnitude >= 0x7c00 ? special : magnitude < 0x400 ? denormal : normal;
  return std::bit_cast<float>(result | sign);
}

// One float to half in the current rounding direction (MXCSR.RC).
inline u32 float_to_half(float value) { return _cvtss_sh(value, _MM_FROUND_CUR_DIRECTION); }

inline u32 flush_half(u32 bits) { return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits; }

// The low 16 bits of 64 lanes to float.
inline void halves_to_floats(const u32* in, float* out) {
  for (int lane = 0; lane < kLanes; lane += 8) {
    const __m256i wide = _mm256_and_si256(
        _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + lane)), _mm256_set1_epi32(0xffff));
    const __m256i packed = _mm256_packus_epi32(wide, wide);
    const __m128i halves =
        _mm_unpacklo_epi64(_mm256_castsi256_si128(packed), _mm256_extracti128_si256(packed, 1));
    _mm256_storeu_ps(out + lane, _mm256_cvtph_ps(halves));
  }
}

// 64 floats to halves in the low 16 bits, rounding as MXCSR says.
inline void floats_to_halves(const float* in, u32* out) {
  for (int lane = 0; lane < kLanes; lane += 8) {
    const __m128i halves = _mm256_cvtps_ph(_mm256_loadu_ps(in + lane), _MM_FROUND_CUR_DIRECTION);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + lane), _mm256_cvtepu16_epi32(halves));
  }
}

// Narrows a double to the float that a later rounding to f16 treats like the double itself: the
// value cut off at 24 bits with a sticky lowest bit (rounding to odd).
inline float narrow_to_odd(double value) {
  const u64 bits = std::bit_cast<u64>(value);
  const u32 sign = static_cast<u32>(bits >> 32) & 0x80000000;
  const u64 magnitude = bits & 0x7fffffffffffffff;
  // Below 2^-100 the value matters to f16 only as "not zero"; above 2^100 only as "too large".
  const u64 tiny = (1023ull - 100) << 52;
  const u64 huge = (1023ull + 100) << 52;
  const u32 sticky = (magnitude & 0x1fffffff) != 0;
  u32 result = static_cast<u32>((magnitude - ((1023ull - 127) << 52)) >> 29) | sticky;
  result = magnitude >= huge ? (100u + 127) << 23 : result;
  result = magnitude >= 0x7ff0000000000000 ? 0x7f800000 : result;
  result = magnitude > 0x7ff0000000000000 ? 0x7fc00000 : result;
  result = magnitude < tiny ? (magnitude == 0 ? 0 : (127u - 100) << 23) : result;
  return std::bit_cast<float>(result | sign);
}

inline half fma_f16(half a, half b, half c) {
  // The product of two halves is exact in f32 and the sum in f64 is exact or harmless (see above).
  const double product = static_cast<double>(a.value) * static_cast<double>(b.value);
  return narrow_to_odd(product + static_cast<double>(c.value));
}

}  // namespace vgpu::isa::VGPU_ENGINE
