// SOP2: D = S0 op S1, and the SOPK forms whose second source is a 16-bit constant. SCC is carry,
// overflow, "not zero" or left alone, as the manual lists per opcode ("CDNA2 ISA", 12.1).
#include <algorithm>

#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// F(a, b, scc) -> result; the types of its parameters and result are the operand widths.
template <class D, class A, class B, auto F>
void binary(Wave& wave, const Inst& inst) {
  const A a = source<A>(wave, inst, inst.src[0]);
  const B b = source<B>(wave, inst, inst.src[1]);
  set_destination<D>(wave, inst.dst, F(a, b, wave.scc));
}

template <auto F>
constexpr Handler b32 = binary<u32, u32, u32, F>;
template <auto F>
constexpr Handler i32s = binary<i32, i32, i32, F>;

// D = F(D, simm16, scc)
template <auto F>
void with_constant(Wave& wave, const Inst& inst) {
  set_scalar32(wave, inst.dst,
               static_cast<u32>(F(static_cast<i32>(wave.s[inst.dst & 127]), inst.imm, wave.scc)));
}

i32 add_signed(i32 a, i32 b, u8& scc) {
  i32 sum;
  scc = __builtin_add_overflow(a, b, &sum);
  return sum;
}

i32 subtract_signed(i32 a, i32 b, u8& scc) {
  i32 difference;
  scc = __builtin_sub_overflow(a, b, &difference);
  return difference;
}

u32 add_with_carry(u32 a, u32 b, u8& scc) {
  const u64 sum = u64{a} + b + scc;
  scc = sum >> 32;
  return static_cast<u32>(sum);
}

u32 subtract_with_borrow(u32 a, u32 b, u8& scc) {
  const u64 difference = u64{a} - b - scc;
  scc = difference >> 32 & 1;
  return static_cast<u32>(difference);
}

template <int N>
u32 shift_add(u32 a, u32 b, u8& scc) {
  const u64 sum = (u64{a} << N) + b;
  scc = sum >> 32 != 0;
  return static_cast<u32>(sum);
}

// Bit fields: the second source holds the offset in [4:0] ([5:0] for 64 bits) and the width in
// [22:16]. A field that reaches beyond the top is cut there.
template <class T>
T extract_field(T value, u32 field, u8& scc) {
  constexpr u32 kBits = sizeof(T) * 8;
  const u32 offset = field & (kBits - 1);
  const u32 width = std::min(field >> 16 & 0x7f, kBits - offset);
  if (width == 0) {
    scc = 0;
    return 0;
  }
  using Unsigned = std::make_unsigned_t<T>;
  const auto top = static_cast<Unsigned>(value) << (kBits - offset - width);
  return nonzero<T>(static_cast<T>(top) >> (kBits - width), scc);
}

template <class T>
T field_mask(u32 width, u32 offset) {
  constexpr u32 kMask = sizeof(T) * 8 - 1;
  return ((T{1} << (width & kMask)) - 1) << (offset & kMask);
}

Handler select_arithmetic(Op op) {
  switch (op) {
    case Op::s_add_u32:
      return b32<[](u32 a, u32 b, u8& scc) { return scc = 0, add_with_carry(a, b, scc); }>;
    case Op::s_sub_u32:
      return b32<[](u32 a, u32 b, u8& scc) { return scc = 0, subtract_with_borrow(a, b, scc); }>;
    case Op::s_addc_u32: return b32<add_with_carry>;
    case Op::s_subb_u32: return b32<subtract_with_borrow>;
    case Op::s_add_i32: return i32s<add_signed>;
    case Op::s_sub_i32: return i32s<subtract_signed>;
    case Op::s_min_i32:
      return i32s<[](i32 a, i32 b, u8& scc) { return scc = a < b, std::min(a, b); }>;
    case Op::s_max_i32:
      return i32s<[](i32 a, i32 b, u8& scc) { return scc = b < a, std::max(a, b); }>;
    case Op::s_min_u32:
      return b32<[](u32 a, u32 b, u8& scc) { return scc = a < b, std::min(a, b); }>;
    case Op::s_max_u32:
      return b32<[](u32 a, u32 b, u8& scc) { return scc = b < a, std::max(a, b); }>;
    case Op::s_mul_i32: return b32<[](u32 a, u32 b, u8&) { return a * b; }>;
    case Op::s_mul_hi_u32:
      return b32<[](u32 a, u32 b, u8&) { return static_cast<u32>(u64{a} * b >> 32); }>;
    case Op::s_mul_hi_i32:
      return i32s<[](i32 a, i32 b, u8&) { return static_cast<i32>(i64{a} * b >> 32); }>;
    case Op::s_absdiff_i32:
      return b32<[](u32 a, u32 b, u8& scc) {
        const u32 difference = a - b;
        return nonzero(static_cast<i32>(difference) < 0 ? -difference : difference, scc);
      }>;
    case Op::s_lshl1_add_u32: return b32<shift_add<1>>;
    case Op::s_lshl2_add_u32: return b32<shift_add<2>>;
    case Op::s_lshl3_add_u32: return b32<shift_add<3>>;
    case Op::s_lshl4_add_u32: return b32<shift_add<4>>;
    case Op::s_addk_i32: return with_constant<add_signed>;
    case Op::s_mulk_i32:
      return with_constant<[](i32 a, i32 b, u8&) { return static_cast<u32>(a) * b; }>;
    default: return nullptr;
  }
}

template <class T>
Handler select_logic(Op wide_or_narrow) {
  constexpr auto kSame = [](Op narrow, Op wide) { return sizeof(T) == 4 ? narrow : wide; };
  const Op op = wide_or_narrow;
  if (op == kSame(Op::s_and_b32, Op::s_and_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(a & b, scc); }>;
  }
  if (op == kSame(Op::s_or_b32, Op::s_or_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(a | b, scc); }>;
  }
  if (op == kSame(Op::s_xor_b32, Op::s_xor_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(a ^ b, scc); }>;
  }
  if (op == kSame(Op::s_andn2_b32, Op::s_andn2_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(a & ~b, scc); }>;
  }
  if (op == kSame(Op::s_orn2_b32, Op::s_orn2_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(a | ~b, scc); }>;
  }
  if (op == kSame(Op::s_nand_b32, Op::s_nand_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(~(a & b), scc); }>;
  }
  if (op == kSame(Op::s_nor_b32, Op::s_nor_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(~(a | b), scc); }>;
  }
  if (op == kSame(Op::s_xnor_b32, Op::s_xnor_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return nonzero<T>(~(a ^ b), scc); }>;
  }
  if (op == kSame(Op::s_cselect_b32, Op::s_cselect_b64)) {
    return binary<T, T, T, [](T a, T b, u8& scc) { return scc ? a : b; }>;
  }
  return nullptr;
}

Handler select_shift(Op op) {
  switch (op) {
    case Op::s_lshl_b32:
      return b32<[](u32 a, u32 b, u8& scc) { return nonzero(a << (b & 31), scc); }>;
    case Op::s_lshr_b32:
      return b32<[](u32 a, u32 b, u8& scc) { return nonzero(a >> (b & 31), scc); }>;
    case Op::s_ashr_i32:
      return i32s<[](i32 a, i32 b, u8& scc) { return nonzero(a >> (b & 31), scc); }>;
    case Op::s_lshl_b64:
      return binary<u64, u64, u32,
                    [](u64 a, u32 b, u8& scc) { return nonzero(a << (b & 63), scc); }>;
    case Op::s_lshr_b64:
      return binary<u64, u64, u32,
                    [](u64 a, u32 b, u8& scc) { return nonzero(a >> (b & 63), scc); }>;
    case Op::s_ashr_i64:
      return binary<i64, i64, u32,
                    [](i64 a, u32 b, u8& scc) { return nonzero(a >> (b & 63), scc); }>;
    case Op::s_bfm_b32: return b32<[](u32 a, u32 b, u8&) { return field_mask<u32>(a, b); }>;
    case Op::s_bfm_b64:
      return binary<u64, u32, u32, [](u32 a, u32 b, u8&) { return field_mask<u64>(a, b); }>;
    case Op::s_bfe_u32: return binary<u32, u32, u32, extract_field<u32>>;
    case Op::s_bfe_i32: return binary<i32, i32, u32, extract_field<i32>>;
    case Op::s_bfe_u64: return binary<u64, u64, u32, extract_field<u64>>;
    case Op::s_bfe_i64: return binary<i64, i64, u32, extract_field<i64>>;
    case Op::s_pack_ll_b32_b16:
      return b32<[](u32 a, u32 b, u8&) { return (a & 0xffff) | b << 16; }>;
    case Op::s_pack_lh_b32_b16:
      return b32<[](u32 a, u32 b, u8&) { return (a & 0xffff) | (b & 0xffff0000); }>;
    case Op::s_pack_hh_b32_b16:
      return b32<[](u32 a, u32 b, u8&) { return (a >> 16) | (b & 0xffff0000); }>;
    default: return nullptr;
  }
}

}  // namespace

Handler select_sop2(Op op) {
  for (Handler found :
       {select_arithmetic(op), select_logic<u32>(op), select_logic<u64>(op), select_shift(op)}) {
    if (found) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace vgpu::isa::VGPU_ENGINE
