// Handlers for the common case: no modifiers, 32- and 64-bit operands. Sources come straight from
// the registers (or stay in a host register, for uniform ones), results go straight back; with
// EXEC full nothing is blended.
//
// The lane loops touch lane i only in iteration i, so they may be vectorised whatever registers
// overlap: that is what `ivdep` promises.
#pragma once

#include "isa/exec/float_mode.h"
#include "isa/exec/vector_types.h"

namespace vgpu::isa::VGPU_ENGINE {

// A 64-bit scalar source. Literals are 32 bits: the high half of a double, else extended.
template <class T>
T wide_scalar(const Wave& wave, const Inst& inst, u16 code) {
  if (code == op_literal) {
    const u32 literal = static_cast<u32>(inst.imm);
    if constexpr (kind_of<T>() == Kind::f64 || kind_of<T>() == Kind::raw_f64) {
      return std::bit_cast<T>(u64{literal} << 32);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<i32>(literal);
    } else {
      return literal;
    }
  }
  return std::bit_cast<T>(scalar64(wave, inst, code));
}

// Hides where a scalar comes from. Without this the compiler specialises on the inline constants
// and evaluates operations on them itself, in round-to-nearest whatever MODE says.
template <class T>
T opaque(T bits) {
  asm("" : "+r"(bits));
  return bits;
}

// What is known of a source when its handler is chosen.
enum class Form : u8 { vector, uniform, either };

// Room for a scalar broadcast to all lanes: two words for a 64-bit one.
struct SourceBuffer {
  LaneBuffer low, high;
};
struct NoBuffer {};
template <Form F>
using BufferFor = std::conditional_t<F == Form::either, SourceBuffer, NoBuffer>;

// A source of the lane loop.
template <class T, Form F>
class Source {
 public:
  [[gnu::always_inline]] Source(Wave& wave, const Inst& inst, u16 code, BufferFor<F>& buffer) {
    if (F == Form::vector || is_vector(code)) {
      low_ = vector(wave, code);
      high_ = sizeof(T) == 8 ? vector(wave, code + 1) : nullptr;
    } else if constexpr (F == Form::either && sizeof(T) == 8) {
      const u64 value = opaque(std::bit_cast<u64>(wide_scalar<T>(wave, inst, code)));
      low_ = broadcast(buffer.low, static_cast<u32>(value));
      high_ = broadcast(buffer.high, static_cast<u32>(value >> 32));
    } else if constexpr (F == Form::either) {
      low_ = broadcast(buffer.low, opaque(scalar32(wave, inst, code)));
    }
  }
  T operator[](int lane) const {
    if constexpr (sizeof(T) == 8) {
      return std::bit_cast<T>(low_[lane] | u64{high_[lane]} << 32);
    } else {
      return std::bit_cast<T>(low_[lane]);
    }
  }

 private:
  const u32* low_ = nullptr;
  const u32* high_ = nullptr;
};

template <class T>
class Source<T, Form::uniform> {
 public:
  [[gnu::always_inline]] Source(Wave& wave, const Inst& inst, u16 code, NoBuffer&) {
    if constexpr (sizeof(T) == 8) {
      value_ = std::bit_cast<T>(opaque(std::bit_cast<u64>(wide_scalar<T>(wave, inst, code))));
    } else {
      value_ = std::bit_cast<T>(opaque(scalar32(wave, inst, code)));
    }
  }
  T operator[](int) const { return value_; }

 private:
  T value_;
};

// The lane mask an operation reads: carry in, or the selector of v_cndmask.
class MaskSource {
 public:
  explicit MaskSource(u64 mask) { expand_mask(mask, buffer_.lane); }
  bool operator[](int lane) const { return buffer_.lane[lane] != 0; }

 private:
  LaneBuffer buffer_;
};
struct NoMask {
  explicit NoMask(u64) {}
};

template <class T, bool Masked>
class Destination {
 public:
  [[gnu::always_inline]] Destination(Wave& wave, u16 code) : low_(vector(wave, code)) {
    if constexpr (sizeof(T) == 8) {
      high_ = vector(wave, code + 1);
    }
    if constexpr (Masked) {
      mask_ = exec_mask(wave);
    }
  }
  void store(int lane, T value) const {
    if constexpr (sizeof(T) == 8) {
      const u64 bits = std::bit_cast<u64>(value);
      put(low_[lane], static_cast<u32>(bits), lane);
      put(high_[lane], static_cast<u32>(bits >> 32), lane);
    } else {
      put(low_[lane], std::bit_cast<u32>(value), lane);
    }
  }

 private:
  void put(u32& word, u32 bits, int lane) const {
    if constexpr (Masked) {
      // Masked by hand: a condition here keeps some loops from being vectorised.
      word = (bits & mask_[lane]) | (word & ~mask_[lane]);
    } else {
      word = bits;
    }
  }
  u32* low_;
  u32* high_ = nullptr;
  const u32* mask_ = nullptr;
};

// Where the mask result goes. VOP3B and VOPC name it; the short encodings write VCC.
inline u16 mask_destination(const Inst& inst) {
  return inst.sdst != op_none ? inst.sdst : u16{op_vcc};
}

// The mask an operation with `sources` register sources reads: its next operand if it has one in
// the encoding (VOP3 of v_cndmask and the carry family), else VCC.
inline u64 mask_source(const Wave& wave, const Inst& inst, unsigned sources) {
  const u16 code = sources < 3 ? inst.src[sources] : u16{op_none};
  return code == op_none ? wave.vcc() : scalar64(wave, inst, code);
}

// The register of source i; accumulating operations (v_fmac) read their destination as the last.
template <bool Accumulates>
u16 source_code(const Inst& inst, unsigned index, unsigned sources) {
  return Accumulates && index + 1 == sources ? inst.dst : inst.src[index];
}

template <auto F, bool Masked, class Sources, class MaskIn, class Flags, std::size_t... I>
[[gnu::always_inline]] inline void run_lanes(Wave& wave, const Inst& inst, const Sources& source,
                                             const MaskIn& mask_in, const Mode& mode,
                                             [[maybe_unused]] Flags& flags,
                                             std::index_sequence<I...>) {
  using S = Signature<F>;
  auto call = [&](int lane) [[gnu::always_inline]] {
    if constexpr (S::takes_mask && S::takes_mode) {
      return F(std::get<I>(source)[lane]..., mask_in[lane], mode);
    } else if constexpr (S::takes_mask) {
      return F(std::get<I>(source)[lane]..., mask_in[lane]);
    } else if constexpr (S::takes_mode) {
      return F(std::get<I>(source)[lane]..., mode);
    } else {
      return F(std::get<I>(source)[lane]...);
    }
  };
  if constexpr (S::compares) {
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      flags.lane[lane] = call(lane) ? ~0u : 0u;
    }
  } else {
    const Destination<typename S::Result, Masked> destination(wave, inst.dst);
#pragma GCC ivdep
    for (int lane = 0; lane < kLanes; ++lane) {
      const auto result = call(lane);
      if constexpr (S::flagged) {
        flags.lane[lane] = result.flag;
        destination.store(lane, result.value);
      } else {
        destination.store(lane, result);
      }
    }
  }
}

// Bit i of Uniform: source i is scalar. Without Exact the others may be scalar, too.
template <unsigned Uniform, bool Exact, unsigned I>
constexpr Form form_of = (Uniform >> I & 1) != 0 ? Form::uniform
                         : Exact                 ? Form::vector
                                                 : Form::either;

template <auto F, bool Accumulates, unsigned Uniform, bool Exact, std::size_t... I>
[[gnu::always_inline]] inline void run_plain(Wave& wave, const Inst& inst,
                                             std::index_sequence<I...> indices) {
  using S = Signature<F>;
  const u64 exec = wave.exec();
  if constexpr (!S::compares && !S::flagged) {
    if (exec == 0) [[unlikely]] {
      return;
    }
  }
  std::tuple<BufferFor<form_of<Uniform, Exact, I>>...> buffers;
  const std::tuple<Source<typename S::template Argument<I>, form_of<Uniform, Exact, I>>...> source{
      Source<typename S::template Argument<I>, form_of<Uniform, Exact, I>>(
          wave, inst, source_code<Accumulates>(inst, I, S::sources), std::get<I>(buffers))...};
  const std::conditional_t<S::takes_mask, MaskSource, NoMask> mask_in(
      S::takes_mask ? mask_source(wave, inst, S::sources) : 0);
  const Mode mode = S::takes_mode ? mode_of(wave, false) : Mode{};
  std::conditional_t<S::compares || S::flagged, LaneBuffer, NoBuffer> flags;
  if (S::compares || exec == ~u64{0}) [[likely]] {
    run_lanes<F, false>(wave, inst, source, mask_in, mode, flags, indices);
  } else {
    run_lanes<F, true>(wave, inst, source, mask_in, mode, flags, indices);
  }
  if constexpr (S::compares || S::flagged) {
    set_scalar64(wave, mask_destination(inst), compress_mask(flags.lane) & exec);
  }
}

template <auto F, bool Accumulates, unsigned Uniform, bool Exact>
[[gnu::noinline, gnu::flatten]] void plain(Wave& wave, const Inst& inst) {
  run_plain<F, Accumulates, Uniform, Exact>(wave, inst,
                                            std::make_index_sequence<Signature<F>::sources>{});
}

// Runs H in the rounding and denormal mode of double and half precision. H must not be inlined: the
// compiler does not know that arithmetic depends on MXCSR.
template <Handler H>
void in_double_mode(Wave& wave, const Inst& inst) {
  const DoubleMode scope(wave);
  H(wave, inst);
}

}  // namespace vgpu::isa::VGPU_ENGINE
