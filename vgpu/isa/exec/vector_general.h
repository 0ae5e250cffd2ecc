// Handlers for everything the plain ones do not cover: modifiers, 16-bit operands, SDWA, DPP.
//
// Such an instruction runs in three steps: each source is brought into an array of 64 lanes in the
// form the operation wants (stage_source), the operation's kernel runs over the arrays, and the
// result is clamped, placed and blended into the destination (store_result). Only the kernel is
// instantiated per operation.
#pragma once

#include "isa/exec/vector_plain.h"

namespace vgpu::isa::VGPU_ENGINE {

// 64 lanes of any kind: words, doublewords, or floats for halves.
struct alignas(64) LaneArray {
  u64 bits[kLanes];
  template <class T>
  T* as() {
    return reinterpret_cast<T*>(bits);
  }
  template <class T>
  const T* as() const {
    return reinterpret_cast<const T*>(bits);
  }
};

struct Stage {
  const void* source[3];
  LaneBuffer mask_in;
  LaneArray result;
  LaneBuffer flags;  // compares, carry out: all ones where set
};

struct VectorShape {
  Kind result = Kind::none;
  u8 sources = 0;
  Kind source[3] = {Kind::none, Kind::none, Kind::none};
  bool takes_mask = false;
  bool flags = false;        // a comparison or a carry out
  bool accumulates = false;  // the last source is the destination
  bool keeps_high = false;   // 16-bit result: the other half of the register stays
};

struct GeneralOp {
  VectorShape shape;
  void (*kernel)(Stage& stage, const Mode& mode);
};

// How a lane of type T lies in a staged array.
template <class T>
struct StagedAs {
  using Type = std::conditional_t<sizeof(T) == 2, u32, T>;
};
template <>
struct StagedAs<half> {
  using Type = float;
};
template <>
struct StagedAs<Raw<half>> {
  using Type = u32;
};
template <class T>
using Staged = typename StagedAs<T>::Type;

template <class T>
T staged_lane(const void* array, int lane) {
  const Staged<T> value = static_cast<const Staged<T>*>(array)[lane];
  if constexpr (std::is_same_v<T, Raw<half>>) {
    return {static_cast<u16>(value)};
  } else {
    return static_cast<T>(value);
  }
}

template <auto F, std::size_t... I>
[[gnu::always_inline]] inline void run_kernel(Stage& stage, const Mode& mode,
                                              std::index_sequence<I...>) {
  using S = Signature<F>;
  const Mode fixed = mode;  // a local copy, so that stores cannot change it
  const void* source[3] = {stage.source[0], stage.source[1], stage.source[2]};
  auto call = [&](int lane) [[gnu::always_inline]] {
    if constexpr (S::takes_mask && S::takes_mode) {
      return F(staged_lane<typename S::template Argument<I>>(source[I], lane)...,
               stage.mask_in.lane[lane] != 0, fixed);
    } else if constexpr (S::takes_mask) {
      return F(staged_lane<typename S::template Argument<I>>(source[I], lane)...,
               stage.mask_in.lane[lane] != 0);
    } else if constexpr (S::takes_mode) {
      return F(staged_lane<typename S::template Argument<I>>(source[I], lane)..., fixed);
    } else {
      return F(staged_lane<typename S::template Argument<I>>(source[I], lane)...);
    }
  };
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto result = call(lane);
    if constexpr (S::compares) {
      stage.flags.lane[lane] = result ? ~0u : 0u;
    } else if constexpr (S::flagged) {
      stage.flags.lane[lane] = result.flag;
      stage.result.as<Staged<typename S::Result>>()[lane] = result.value;
    } else {
      stage.result.as<Staged<typename S::Result>>()[lane] = result;
    }
  }
}

template <auto F>
[[gnu::flatten]] void kernel(Stage& stage, const Mode& mode) {
  run_kernel<F>(stage, mode, std::make_index_sequence<Signature<F>::sources>{});
}

template <auto F>
constexpr VectorShape shape_of(bool accumulates, bool keeps_high) {
  using S = Signature<F>;
  return {.result = S::result_kind,
          .sources = S::sources,
          .source = {S::template source_kind<0>(), S::template source_kind<1>(),
                     S::template source_kind<2>()},
          .takes_mask = S::takes_mask,
          .flags = S::compares || S::flagged,
          .accumulates = accumulates,
          .keeps_high = keeps_high};
}

// Runs an instruction the general way.
void run_general(Wave& wave, const Inst& inst, const GeneralOp& op);

// What is done to a source between its register and the operation.
struct SourceModifiers {
  bool neg = false, abs = false;
  bool high = false;  // 16-bit operands: the upper half of the register
};

// The source modifiers of the VOP3, SDWA and DPP encodings.
SourceModifiers modifiers_of(const Inst& inst, unsigned index);

// Brings source `index` into staged form; `code` is its register. Handles DPP and SDWA. The result
// may point into the register file.
const void* stage_source(Wave& wave, const Inst& inst, u16 code, unsigned index, Kind kind,
                         SourceModifiers modifiers, const Mode& mode, LaneArray& buffer);

// Output modifier and clamp of floating-point results, on staged lanes.
void modify_result(const Inst& inst, Kind kind, const Mode& mode, LaneArray& result);

// The bits of staged 16-bit results, in the low half of each word.
void short_result_bits(Kind kind, const Mode& mode, const LaneArray& result, u32* bits);

// Blends 64 words into a register where `lanes` has a bit.
void store_lanes(u32* destination, const u32* words, u64 lanes);

template <auto F, bool Accumulates, bool KeepsHigh>
[[gnu::noinline]] void general(Wave& wave, const Inst& inst) {
  static constexpr GeneralOp op = {shape_of<F>(Accumulates, KeepsHigh), kernel<F>};
  run_general(wave, inst, op);
}

}  // namespace vgpu::isa::VGPU_ENGINE
