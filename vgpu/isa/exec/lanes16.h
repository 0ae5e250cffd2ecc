// Sixteen lanes of 32 bits as a host vector: one AVX-512 register, or two of AVX2. Masks have a bit
// per lane.
#pragma once

#include <immintrin.h>

#include "libc/types.h"

namespace vgpu::isa::VGPU_ENGINE {
using namespace gp;  // NOLINT(google-build-using-namespace)

struct Lanes16 {
#ifdef __AVX512F__
  __m512i v;

  static Lanes16 load(const void* p) { return {_mm512_loadu_si512(p)}; }
  static Lanes16 all(u32 value) { return {_mm512_set1_epi32(static_cast<int>(value))}; }
  // 0, stride, 2 * stride, ...
  static Lanes16 steps(u32 stride) {
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    return {_mm512_mullo_epi32(lane, _mm512_set1_epi32(static_cast<int>(stride)))};
  }
  // Only the lanes of the mask are read; the others give zero.
  static Lanes16 load_masked(u32 mask, const void* p) {
    return {_mm512_maskz_loadu_epi32(static_cast<__mmask16>(mask), p)};
  }

  void store(void* p) const { _mm512_storeu_si512(p, v); }
  // Only the lanes of the mask are written.
  void store_masked(u32 mask, void* p) const {
    _mm512_mask_storeu_epi32(p, static_cast<__mmask16>(mask), v);
  }
  // The lanes of the mask from this, the others from `other`.
  Lanes16 or_else(u32 mask, Lanes16 other) const {
    return {_mm512_mask_mov_epi32(other.v, static_cast<__mmask16>(mask), v)};
  }
  u32 differs(Lanes16 b) const { return _mm512_cmpneq_epi32_mask(v, b.v); }
  Lanes16 operator+(Lanes16 b) const { return {_mm512_add_epi32(v, b.v)}; }
  // Of 64 words, those that the lanes name: table[lane % 64].
  Lanes16 select(const u32* table) const {
    const __m512i* part = reinterpret_cast<const __m512i*>(table);
    const auto words = [&](int i) { return _mm512_loadu_si512(part + i); };
    const __m512i low = _mm512_permutex2var_epi32(words(0), v, words(1));
    const __m512i high = _mm512_permutex2var_epi32(words(2), v, words(3));
    return {_mm512_mask_mov_epi32(low, _mm512_test_epi32_mask(v, _mm512_set1_epi32(32)), high)};
  }
  template <int kBits>
  Lanes16 shifted_right() const {
    return {_mm512_maskz_srli_epi32(0xffff, v, kBits)};
  }
  // The masked forms, as g++ 12 warns of undefined values inside the plain ones.
  Lanes16 min(Lanes16 b) const { return {_mm512_maskz_min_epu32(0xffff, v, b.v)}; }
  Lanes16 max(Lanes16 b) const { return {_mm512_maskz_max_epu32(0xffff, v, b.v)}; }
  __m256i lower_half() const { return __builtin_shufflevector(v, v, 0, 1, 2, 3); }
  __m256i upper_half() const { return __builtin_shufflevector(v, v, 4, 5, 6, 7); }

#else
  __m256i low, high;

  static Lanes16 load(const void* p) {
    const auto* half = static_cast<const __m256i*>(p);
    return {_mm256_loadu_si256(half), _mm256_loadu_si256(half + 1)};
  }
  static Lanes16 all(u32 value) {
    const __m256i v = _mm256_set1_epi32(static_cast<int>(value));
    return {v, v};
  }
  static Lanes16 steps(u32 stride) {
    const __m256i step = _mm256_set1_epi32(static_cast<int>(stride));
    return {_mm256_mullo_epi32(_mm256_set_epi32(7, 6, 5, 4, 3, 2, 1, 0), step),
            _mm256_mullo_epi32(_mm256_set_epi32(15, 14, 13, 12, 11, 10, 9, 8), step)};
  }
  // Eight bits as all-ones or zero words.
  static __m256i words(u32 bits) {
    const __m256i bit = _mm256_set_epi32(128, 64, 32, 16, 8, 4, 2, 1);
    const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), bit);
    return _mm256_cmpeq_epi32(set, bit);
  }
  static Lanes16 load_masked(u32 mask, const void* p) {
    const auto* from = static_cast<const int*>(p);
    return {_mm256_maskload_epi32(from, words(mask)),
            _mm256_maskload_epi32(from + 8, words(mask >> 8))};
  }

  void store(void* p) const {
    auto* half = static_cast<__m256i*>(p);
    _mm256_storeu_si256(half, low);
    _mm256_storeu_si256(half + 1, high);
  }
  void store_masked(u32 mask, void* p) const {
    auto* to = static_cast<int*>(p);
    _mm256_maskstore_epi32(to, words(mask), low);
    _mm256_maskstore_epi32(to + 8, words(mask >> 8), high);
  }
  Lanes16 or_else(u32 mask, Lanes16 other) const {
    return {_mm256_blendv_epi8(other.low, low, words(mask)),
            _mm256_blendv_epi8(other.high, high, words(mask >> 8))};
  }
  u32 differs(Lanes16 b) const {
    const auto bits = [](__m256i equal) {
      return ~static_cast<u32>(_mm256_movemask_ps(_mm256_castsi256_ps(equal))) & 0xff;
    };
    return bits(_mm256_cmpeq_epi32(low, b.low)) | bits(_mm256_cmpeq_epi32(high, b.high)) << 8;
  }
  Lanes16 operator+(Lanes16 b) const {
    return {_mm256_add_epi32(low, b.low), _mm256_add_epi32(high, b.high)};
  }
  Lanes16 select(const u32* table) const {
    u32 index[16], result[16];
    store(index);
    for (int lane = 0; lane < 16; ++lane) {
      result[lane] = table[index[lane] % 64];
    }
    return load(result);
  }
  template <int kBits>
  Lanes16 shifted_right() const {
    return {_mm256_srli_epi32(low, kBits), _mm256_srli_epi32(high, kBits)};
  }
  Lanes16 min(Lanes16 b) const {
    return {_mm256_min_epu32(low, b.low), _mm256_min_epu32(high, b.high)};
  }
  Lanes16 max(Lanes16 b) const {
    return {_mm256_max_epu32(low, b.low), _mm256_max_epu32(high, b.high)};
  }
  __m256i lower_half() const { return low; }
  __m256i upper_half() const { return high; }
#endif

  u32 lowest() const {
    const __m256i both = _mm256_min_epu32(lower_half(), upper_half());
    __m128i m = _mm_min_epu32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    m = _mm_min_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_min_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return static_cast<u32>(_mm_cvtsi128_si32(m));
  }
  u32 highest() const {
    const __m256i both = _mm256_max_epu32(lower_half(), upper_half());
    __m128i m = _mm_max_epu32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0x4e));
    m = _mm_max_epu32(m, _mm_shuffle_epi32(m, 0xb1));
    return static_cast<u32>(_mm_cvtsi128_si32(m));
  }
};

constexpr u32 kGroup = 16;
constexpr u32 kFullGroup = 0xffff;

}  // namespace vgpu::isa::VGPU_ENGINE
