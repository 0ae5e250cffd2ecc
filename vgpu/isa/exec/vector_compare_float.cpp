// V_CMP and V_CMPX on floating-point numbers, and V_CMP_CLASS.
#include "isa/exec/vector_compare.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class T>
constexpr auto less_or_greater = [](T a, T b) { return a < b || a > b; };
template <class T>
constexpr auto ordered = [](T a, T b) { return a == a && b == b; };
template <class T>
constexpr auto unordered = [](T a, T b) { return a != a || b != b; };
template <class T>
constexpr auto not_ge = [](T a, T b) { return !(a >= b); };
template <class T>
constexpr auto not_lg = [](T a, T b) { return !(a < b || a > b); };
template <class T>
constexpr auto not_gt = [](T a, T b) { return !(a > b); };
template <class T>
constexpr auto not_le = [](T a, T b) { return !(a <= b); };
template <class T>
constexpr auto not_lt = [](T a, T b) { return !(a < b); };

// V_CMP_CLASS: bit i of the second source asks for class i: signalling NaN, quiet NaN, then minus
// infinity, normal, denormal, zero, plus zero, denormal, normal, infinity. It looks at the bits, so
// denormals count as such in every mode.
template <class Bits, int MantissaBits>
bool in_class(Bits value, u32 classes) {
  constexpr Bits kSign = Bits(Bits{1} << (sizeof(Bits) * 8 - 1));
  constexpr Bits kMantissa = Bits((Bits{1} << MantissaBits) - 1);
  constexpr Bits kExponent = Bits(~(kSign | kMantissa));
  const bool negative = (value & kSign) != 0;
  const Bits exponent = value & kExponent, mantissa = value & kMantissa;
  const bool quiet = (value >> (MantissaBits - 1) & 1) != 0;
  // The class of a positive number; that of a negative one mirrors it.
  const u32 number = exponent == kExponent ? 9 : exponent != 0 ? 8 : mantissa != 0 ? 7 : 6;
  const u32 signed_number = negative ? 11 - number : number;
  const bool nan = exponent == kExponent && mantissa != 0;
  const u32 index = nan ? (quiet ? 1 : 0) : signed_number;
  return (classes >> index & 1) != 0;
}

constexpr auto class_f16 = [](Raw<half> a, u32 b) { return in_class<u16, 10>(a.bits, b); };
constexpr auto class_f32 = [](u32 a, u32 b) { return in_class<u32, 23>(a, b); };
constexpr auto class_f64 = [](Raw<double> a, u32 b) { return in_class<u64, 52>(a.bits, b); };

#define VGPU_COMPARES(name, type)                                                                \
  VGPU_COMPARE(f_##name, compare_never<type>), VGPU_COMPARE(lt_##name, compare_lt<type>),        \
      VGPU_COMPARE(eq_##name, compare_eq<type>), VGPU_COMPARE(le_##name, compare_le<type>),      \
      VGPU_COMPARE(gt_##name, compare_gt<type>), VGPU_COMPARE(lg_##name, less_or_greater<type>), \
      VGPU_COMPARE(ge_##name, compare_ge<type>), VGPU_COMPARE(o_##name, ordered<type>),          \
      VGPU_COMPARE(u_##name, unordered<type>), VGPU_COMPARE(nge_##name, not_ge<type>),           \
      VGPU_COMPARE(nlg_##name, not_lg<type>), VGPU_COMPARE(ngt_##name, not_gt<type>),            \
      VGPU_COMPARE(nle_##name, not_le<type>), VGPU_COMPARE(neq_##name, compare_ne<type>),        \
      VGPU_COMPARE(nlt_##name, not_lt<type>), VGPU_COMPARE(tru_##name, compare_always<type>)

constexpr VectorRow kRows[] = {
    VGPU_COMPARES(f16, half),           VGPU_COMPARES(f32, float),
    VGPU_COMPARES(f64, double),         VGPU_COMPARE(class_f16, class_f16),
    VGPU_COMPARE(class_f32, class_f32), VGPU_COMPARE(class_f64, class_f64),
};

}  // namespace

std::span<const VectorRow> compare_float_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
