// How the vector executors describe an operation.
//
// An operation is a stateless lambda on one lane; its signature says everything about its operands:
//
//   u32, i32, float        a 32-bit register          u16, i16, half    the low 16 bits
//   u64, i64, double       a register pair            bool              a bit of a lane mask
//   Raw<half>, Raw<double>, Raw<half2>                the bits of a floating-point operand
//   const Mode&            the last parameter, for operations that depend on MODE or clamp
//
// and the result type likewise; bool makes it a comparison, Flagged<T> adds a mask (carry out).
// vector_plain.h and vector_general.h turn such a lambda into handlers for 64 lanes.
#pragma once

#include <tuple>
#include <type_traits>
#include <utility>

#include "isa/exec/half.h"
#include "isa/exec/operands.h"

namespace vgpu::isa::VGPU_ENGINE {

// What an operation may need to know besides its operands.
struct Mode {
  bool clamp = false;       // the instruction's clamp bit: integer operations saturate
  bool ieee = false;        // MODE.ieee: signalling NaNs are quieted by min, max and their kin
  bool dx10_clamp = false;  // MODE.dx10_clamp: clamp turns NaN into 0
  // Denormals of f32 and of f16/f64, as sources and as results (MODE.denorm, bits 4..7).
  bool flush_in32 = false, flush_out32 = false;
  bool flush_in64 = false, flush_out64 = false;
  u8 round32 = 0, round64 = 0;  // 0 nearest even, 1 up, 2 down, 3 toward zero
};

[[gnu::always_inline]] inline Mode mode_of(const Wave& wave, bool clamp) {
  const u32 mode = wave.mode;
  return {.clamp = clamp,
          .ieee = (mode >> 9 & 1) != 0,
          .dx10_clamp = (mode >> 8 & 1) != 0,
          .flush_in32 = (mode >> 4 & 1) == 0,
          .flush_out32 = (mode >> 5 & 1) == 0,
          .flush_in64 = (mode >> 6 & 1) == 0,
          .flush_out64 = (mode >> 7 & 1) == 0,
          .round32 = static_cast<u8>(mode & 3),
          .round64 = static_cast<u8>(mode >> 2 & 3)};
}

// A result with a bit for the lane mask: carry out, or the scale flag of v_div_scale. The flag is
// kept as a word, all ones if set, which vectorises where a bool does not.
template <class T>
struct Flagged {
  T value;
  u32 flag;
};
constexpr u32 all_ones_if(bool condition) { return condition ? ~u32{0} : 0; }

// The bits of an operand that is a floating-point number to the encoding (inline constants and
// literals are such numbers), for operations that must see NaNs and denormals as they are.
struct half2;  // two halves in a register
template <class T>
struct Raw {
  using Bits = std::conditional_t<std::is_same_v<T, half>, u16,
                                  std::conditional_t<std::is_same_v<T, double>, u64, u32>>;
  Bits bits;
};

enum class Kind : u8 { none, b16, f16, raw_f16, b32, f32, raw_f16x2, b64, i64, f64, raw_f64, mask };

template <class T>
constexpr Kind kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return Kind::mask;
  else if constexpr (std::is_same_v<T, half>)
    return Kind::f16;
  else if constexpr (std::is_same_v<T, Raw<half>>)
    return Kind::raw_f16;
  else if constexpr (std::is_same_v<T, Raw<half2>>)
    return Kind::raw_f16x2;
  else if constexpr (std::is_same_v<T, Raw<double>>)
    return Kind::raw_f64;
  else if constexpr (std::is_same_v<T, float>)
    return Kind::f32;
  else if constexpr (std::is_same_v<T, double>)
    return Kind::f64;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 2)
    return Kind::b16;
  else if constexpr (std::is_integral_v<T> && sizeof(T) == 4)
    return Kind::b32;
  else if constexpr (std::is_same_v<T, i64>)
    return Kind::i64;
  else if constexpr (std::is_same_v<T, u64>)
    return Kind::b64;
  else
    return Kind::none;
}

constexpr bool is_wide(Kind kind) {
  return kind == Kind::b64 || kind == Kind::i64 || kind == Kind::f64 || kind == Kind::raw_f64;
}
constexpr bool is_short(Kind kind) {
  return kind == Kind::b16 || kind == Kind::f16 || kind == Kind::raw_f16;
}
// Kinds that only the general handler can fetch.
constexpr bool needs_staging(Kind kind) { return is_short(kind) || kind == Kind::raw_f16x2; }

template <class T>
struct ResultOf {
  using Value = T;
  static constexpr bool flagged = false;
};
template <class T>
struct ResultOf<Flagged<T>> {
  using Value = T;
  static constexpr bool flagged = true;
};

// Takes a lambda's signature apart.
template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};

template <class F, class R, class... Args>
struct SignatureOf<R (F::*)(Args...) const> {
  using Arguments = std::tuple<std::remove_cvref_t<Args>...>;
  static constexpr unsigned arguments = sizeof...(Args);

  template <unsigned I>
  using Argument = std::tuple_element_t<I, Arguments>;

  static constexpr bool takes_mode = [] {
    if constexpr (arguments == 0)
      return false;
    else
      return std::is_same_v<Argument<arguments - 1>, Mode>;
  }();
  static constexpr bool takes_mask = (std::is_same_v<std::remove_cvref_t<Args>, bool> || ...);
  // Register sources; the mask, if any, follows them.
  static constexpr unsigned sources = arguments - takes_mode - takes_mask;

  using Result = typename ResultOf<R>::Value;
  static constexpr bool compares = std::is_same_v<R, bool>;
  static constexpr bool flagged = ResultOf<R>::flagged;

  template <unsigned I>
  static constexpr Kind source_kind() {
    if constexpr (I < sources)
      return kind_of<Argument<I>>();
    else
      return Kind::none;
  }
  static constexpr Kind result_kind = compares ? Kind::none : kind_of<Result>();
  static constexpr bool staged = needs_staging(source_kind<0>()) ||
                                 needs_staging(source_kind<1>()) ||
                                 needs_staging(source_kind<2>()) || needs_staging(result_kind);
  // Whether rounding and denormals follow the f16/f64 half of MODE. Results in f32 follow the f32
  // half; v_cvt_f64_f32 and integer sources are exact, so only the f32 input mode matters there.
  static constexpr bool is_double_or_half(Kind kind) {
    return kind == Kind::f64 || kind == Kind::f16;
  }
  static constexpr bool follows_wide_mode =
      result_kind == Kind::f16 || (result_kind != Kind::f32 && is_double_or_half(source_kind<0>()));
};

template <auto F>
using Signature = SignatureOf<std::remove_cvref_t<decltype(F)>>;

// The reverse of expand_mask(): a bit per word from its sign bit.
inline u64 compress_mask(const u32* words) {
  u64 mask = 0;
#ifdef __AVX512F__
  for (int lane = 0; lane < kLanes; lane += 16) {
    const __m512i block = _mm512_loadu_si512(words + lane);
    mask |= static_cast<u64>(_mm512_cmplt_epi32_mask(block, _mm512_setzero_si512())) << lane;
  }
#else
  for (int lane = 0; lane < kLanes; lane += 8) {
    const __m256 block = _mm256_loadu_ps(reinterpret_cast<const float*>(words + lane));
    mask |= static_cast<u64>(static_cast<u32>(_mm256_movemask_ps(block))) << lane;
  }
#endif
  return mask;
}

}  // namespace vgpu::isa::VGPU_ENGINE
