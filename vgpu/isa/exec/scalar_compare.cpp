// SOPC, and the SOPK comparisons with a 16-bit constant: SCC = S0 op S1.
#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class A, class B, auto F>
void compare(Wave& wave, const Inst& inst) {
  wave.scc = F(source<A>(wave, inst, inst.src[0]), source<B>(wave, inst, inst.src[1]));
}

// The constant is sign-extended for signed and zero-extended for unsigned comparisons.
template <class T, auto F>
void compare_constant(Wave& wave, const Inst& inst) {
  const T constant = std::is_signed_v<T> ? inst.imm : inst.imm & 0xffff;
  wave.scc = F(source<T>(wave, inst, inst.src[0]), constant);
}

template <class T>
constexpr auto kEqual = [](T a, T b) { return a == b; };
template <class T>
constexpr auto kDifferent = [](T a, T b) { return a != b; };
template <class T>
constexpr auto kGreater = [](T a, T b) { return a > b; };
template <class T>
constexpr auto kGreaterEqual = [](T a, T b) { return a >= b; };
template <class T>
constexpr auto kLess = [](T a, T b) { return a < b; };
template <class T>
constexpr auto kLessEqual = [](T a, T b) { return a <= b; };

template <bool kExpected>
constexpr auto kBit32 = [](u32 a, u32 b) { return (a >> (b & 31) & 1) == kExpected; };
template <bool kExpected>
constexpr auto kBit64 = [](u64 a, u32 b) { return (a >> (b & 63) & 1) == kExpected; };

}  // namespace

Handler select_compare(Op op) {
  switch (op) {
    case Op::s_cmp_eq_i32: return compare<i32, i32, kEqual<i32>>;
    case Op::s_cmp_lg_i32: return compare<i32, i32, kDifferent<i32>>;
    case Op::s_cmp_gt_i32: return compare<i32, i32, kGreater<i32>>;
    case Op::s_cmp_ge_i32: return compare<i32, i32, kGreaterEqual<i32>>;
    case Op::s_cmp_lt_i32: return compare<i32, i32, kLess<i32>>;
    case Op::s_cmp_le_i32: return compare<i32, i32, kLessEqual<i32>>;
    case Op::s_cmp_eq_u32: return compare<u32, u32, kEqual<u32>>;
    case Op::s_cmp_lg_u32: return compare<u32, u32, kDifferent<u32>>;
    case Op::s_cmp_gt_u32: return compare<u32, u32, kGreater<u32>>;
    case Op::s_cmp_ge_u32: return compare<u32, u32, kGreaterEqual<u32>>;
    case Op::s_cmp_lt_u32: return compare<u32, u32, kLess<u32>>;
    case Op::s_cmp_le_u32: return compare<u32, u32, kLessEqual<u32>>;
    case Op::s_cmp_eq_u64: return compare<u64, u64, kEqual<u64>>;
    case Op::s_cmp_lg_u64: return compare<u64, u64, kDifferent<u64>>;
    case Op::s_bitcmp0_b32: return compare<u32, u32, kBit32<false>>;
    case Op::s_bitcmp1_b32: return compare<u32, u32, kBit32<true>>;
    case Op::s_bitcmp0_b64: return compare<u64, u32, kBit64<false>>;
    case Op::s_bitcmp1_b64: return compare<u64, u32, kBit64<true>>;
    case Op::s_cmpk_eq_i32: return compare_constant<i32, kEqual<i32>>;
    case Op::s_cmpk_lg_i32: return compare_constant<i32, kDifferent<i32>>;
    case Op::s_cmpk_gt_i32: return compare_constant<i32, kGreater<i32>>;
    case Op::s_cmpk_ge_i32: return compare_constant<i32, kGreaterEqual<i32>>;
    case Op::s_cmpk_lt_i32: return compare_constant<i32, kLess<i32>>;
    case Op::s_cmpk_le_i32: return compare_constant<i32, kLessEqual<i32>>;
    case Op::s_cmpk_eq_u32: return compare_constant<u32, kEqual<u32>>;
    case Op::s_cmpk_lg_u32: return compare_constant<u32, kDifferent<u32>>;
    case Op::s_cmpk_gt_u32: return compare_constant<u32, kGreater<u32>>;
    case Op::s_cmpk_ge_u32: return compare_constant<u32, kGreaterEqual<u32>>;
    case Op::s_cmpk_lt_u32: return compare_constant<u32, kLess<u32>>;
    case Op::s_cmpk_le_u32: return compare_constant<u32, kLessEqual<u32>>;
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
