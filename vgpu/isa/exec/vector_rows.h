// Tables of vector operations. A row is an opcode and a lambda for one lane:
//
//   {Op::v_add_f32, vop([](float a, float b) { return a + b; })},
//
// vop() derives the handlers from the lambda's signature (vector_types.h).
#pragma once

#include <bit>
#include <span>

#include "isa/exec/vector_general.h"
#include "isa/tables.h"

namespace vgpu::isa::VGPU_ENGINE {

enum class Speed : u8 {
  rare,    // the general handler only
  common,  // plain handlers; with scalars after the first source, these are broadcast
  hot,     // the same, but no broadcast for a single scalar in any place: VOP3 arithmetic
};

struct RowOptions {
  Speed speed = Speed::common;
  bool accumulates = false;  // the last source is the destination: v_fmac, v_mac
  bool keeps_high = false;   // 16-bit VOP3 instructions: the other half of the register stays
  bool writes_exec = false;  // v_cmpx
};

constexpr RowOptions rare{.speed = Speed::rare};
constexpr RowOptions common{};
constexpr RowOptions hot{.speed = Speed::hot};
constexpr RowOptions accumulating{.accumulates = true};
constexpr RowOptions keeping_high{.speed = Speed::rare, .keeps_high = true};

struct VectorEntry {
  Handler general = nullptr;
  Handler plain[8] = {};  // by the set of scalar sources; null if there is none

  // The handler that fits the instruction best.
  Handler pick(const Inst& inst) const;
};

struct VectorRow {
  Op op;
  VectorEntry entry;
};

// v_cmpx writes EXEC besides its mask destination.
template <Handler H>
void also_to_exec(Wave& wave, const Inst& inst) {
  H(wave, inst);
  const u16 code = mask_destination(inst);
  wave.set_exec(wave.s[code] | u64{wave.s[code + 1]} << 32);
}

template <auto F, RowOptions O, Handler H>
constexpr Handler wrapped() {
  if constexpr (Signature<F>::follows_wide_mode && O.writes_exec) {
    return also_to_exec<in_double_mode<H>>;
  } else if constexpr (Signature<F>::follows_wide_mode) {
    return in_double_mode<H>;
  } else if constexpr (O.writes_exec) {
    return also_to_exec<H>;
  } else {
    return H;
  }
}

// The plain handler for a set of scalar sources, or the nearest one that is instantiated.
template <auto F, RowOptions O, unsigned Uniform>
constexpr Handler plain_handler() {
  using S = Signature<F>;
  if constexpr (S::staged || O.speed == Speed::rare) {
    return nullptr;
  } else {
    constexpr unsigned independent = S::sources - O.accumulates;
    constexpr unsigned all = (1u << independent) - 1;
    constexpr unsigned uniform = Uniform & all;
    constexpr bool exact =
        O.speed == Speed::hot ? std::has_single_bit(uniform) || uniform == 0 : uniform <= 1;
    return wrapped<F, O, plain<F, O.accumulates, exact ? uniform : uniform & 1, exact>>();
  }
}

template <RowOptions O = common, class F>
consteval VectorEntry vop(F) {
  return {wrapped<F{}, O, general<F{}, O.accumulates, O.keeps_high>>(),
          {plain_handler<F{}, O, 0>(), plain_handler<F{}, O, 1>(), plain_handler<F{}, O, 2>(),
           plain_handler<F{}, O, 3>(), plain_handler<F{}, O, 4>(), plain_handler<F{}, O, 5>(),
           plain_handler<F{}, O, 6>(), plain_handler<F{}, O, 7>()}};
}

// A handler written out by hand, for all forms of the instruction.
constexpr VectorEntry by_hand(Handler handler) { return {handler, {}}; }

// The families, one per file.
std::span<const VectorRow> f32_rows();              // vector_f32.cpp
std::span<const VectorRow> f64_rows();              // vector_f64.cpp
std::span<const VectorRow> f16_rows();              // vector_f16.cpp
std::span<const VectorRow> math_rows();             // vector_math.cpp: transcendental functions
std::span<const VectorRow> divide_rows();           // vector_divide.cpp: v_div_*
std::span<const VectorRow> convert_rows();          // vector_convert.cpp
std::span<const VectorRow> bit_rows();              // vector_bits.cpp: moves, shifts, bit fields
std::span<const VectorRow> integer_rows();          // vector_integer.cpp: sums and products
std::span<const VectorRow> short_rows();            // vector_short.cpp: 16-bit integers
std::span<const VectorRow> media_rows();            // vector_media.cpp: sad, lerp, cube
std::span<const VectorRow> compare_float_rows();    // vector_compare_float.cpp
std::span<const VectorRow> compare_integer_rows();  // vector_compare_integer.cpp
std::span<const VectorRow> lane_rows();             // vector_lane.cpp: readlane, mbcnt, swap
std::span<const VectorRow> packed_rows();           // vector_packed.cpp: VOP3P arithmetic
std::span<const VectorRow> mix_rows();     // vector_mix.cpp: mixed precision and dot products
std::span<const VectorRow> matrix_rows();  // mfma.cpp

}  // namespace vgpu::isa::VGPU_ENGINE
