// What each vector instruction must compute on one lane, written apart from the executors: plain
// scalar code on host numbers, with the rounding and denormal rules spelled out.
#pragma once

#include <bit>
#include <cmath>

#include "isa/tables.h"

namespace vgpu::isa::test {

// MODE taken apart.
struct FloatRules {
  int round32 = 0, round64 = 0;  // 0 nearest even, 1 up, 2 down, 3 toward zero
  bool in32 = true, out32 = true, in64 = true, out64 = true;  // denormals kept
  bool ieee = true, dx10_clamp = true;

  explicit FloatRules(u32 mode)
      : round32(static_cast<int>(mode & 3)),
        round64(static_cast<int>(mode >> 2 & 3)),
        in32(mode >> 4 & 1),
        out32(mode >> 5 & 1),
        in64(mode >> 6 & 1),
        out64(mode >> 7 & 1),
        ieee(mode >> 9 & 1),
        dx10_clamp(mode >> 8 & 1) {}
};

// Operands of one lane: bits after SDWA, DPP, op_sel, abs and neg.
struct LaneInputs {
  const OpInfo& op;
  u64 source[3] = {};
  bool mask = false;   // carry in, VCC
  bool clamp = false;  // matters here to integer operations only
  const FloatRules& rules;

  u32 u(int i) const { return static_cast<u32>(source[i]); }
  i32 s(int i) const { return static_cast<i32>(source[i]); }
  u16 hu(int i) const { return static_cast<u16>(source[i]); }
  i16 hs(int i) const { return static_cast<i16>(source[i]); }
  i64 sl(int i) const { return static_cast<i64>(source[i]); }
  // As the arithmetic sees them: denormals flushed where MODE says so.
  float f(int i) const;
  double d(int i) const;
  double h(int i) const;  // a half, exactly
};

struct LaneResult {
  u64 value = 0;
  bool flag = false;      // carry out or comparison
  long double exact = 0;  // results in half precision, to be rounded after output modifiers
};

using Reference = LaneResult (*)(const LaneInputs& in);

// Null for opcodes that need more than one lane or are tested elsewhere.
Reference float_reference(Op op);
Reference integer_reference(Op op);
Reference compare_reference(Op op);
inline Reference reference_of(Op op) {
  const Reference floats = float_reference(op);
  const Reference integers = floats ? floats : integer_reference(op);
  return integers ? integers : compare_reference(op);
}

// Whether results may differ in the last bit: transcendental functions.
bool is_approximate(Op op);

// ---- number formats ----

double half_value(u16 bits);
// Rounds an exactly known number to half precision.
u16 round_to_half(long double exact, int round, bool keep_denormals);

inline u32 bits_of(float value) { return std::bit_cast<u32>(value); }
inline u64 bits_of(double value) { return std::bit_cast<u64>(value); }
inline float as_float(u64 bits) { return std::bit_cast<float>(static_cast<u32>(bits)); }
inline double as_double(u64 bits) { return std::bit_cast<double>(bits); }

inline bool is_nan32(u32 bits) { return (bits & 0x7fffffff) > 0x7f800000; }
inline bool is_nan64(u64 bits) { return (bits & ~(u64{1} << 63)) > 0x7ff0000000000000; }
inline bool is_nan16(u32 bits) { return (bits & 0x7fff) > 0x7c00; }

inline u32 flush32(u32 bits) { return (bits & 0x7f800000) == 0 ? bits & 0x80000000 : bits; }
inline u64 flush64(u64 bits) {
  return (bits & 0x7ff0000000000000) == 0 ? bits & (u64{1} << 63) : bits;
}
inline u16 flush16(u16 bits) { return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits; }

// Runs f in a host rounding mode (0 nearest even, 1 up, 2 down, 3 toward zero).
void set_host_rounding(int round);
template <class F>
auto rounded(int round, F f) {
  set_host_rounding(round);
  const auto result = f();
  set_host_rounding(0);
  return result;
}

}  // namespace vgpu::isa::test
