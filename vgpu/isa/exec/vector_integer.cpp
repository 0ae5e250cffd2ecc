// 32- and 64-bit integer sums, products, minima and maxima.
#include <algorithm>

#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

constexpr i32 kMax = 0x7fffffff, kMin = -kMax - 1;

i32 saturated(i64 value) {
  return static_cast<i32>(value > kMax ? kMax : value < kMin ? kMin : value);
}
u32 saturated_unsigned(u64 value) { return value > ~u32{0} ? ~u32{0} : static_cast<u32>(value); }

u32 add(u32 a, u32 b, const Mode& m) {
  const u32 sum = a + b;
  return m.clamp && sum < a ? ~u32{0} : sum;
}
u32 subtract(u32 a, u32 b, const Mode& m) { return m.clamp && a < b ? 0 : a - b; }

// Carries are combined as words: the compiler does not vectorise choices between bools.
Flagged<u32> add_carry(u32 a, u32 b, bool carry, const Mode& m) {
  const u32 partial = a + b;
  const u32 sum = partial + (carry ? 1 : 0);
  const u32 out = all_ones_if(partial < a) | all_ones_if(sum < partial);
  return {m.clamp ? sum | out : sum, out};
}
Flagged<u32> subtract_borrow(u32 a, u32 b, bool borrow, const Mode& m) {
  const u32 partial = a - b, taken = borrow ? 1 : 0;
  const u32 out = all_ones_if(a < b) | all_ones_if(partial < taken);
  const u32 difference = partial - taken;
  return {m.clamp ? difference & ~out : difference, out};
}

i32 low24(i32 value) { return static_cast<i32>(static_cast<u32>(value) << 8) >> 8; }
u32 low24(u32 value) { return value & 0xffffff; }

Flagged<u64> multiply_add(u32 a, u32 b, u64 c, const Mode& m) {
  const u64 sum = u64{a} * b + c;
  const bool overflow = sum < c;
  return {m.clamp && overflow ? ~u64{0} : sum, all_ones_if(overflow)};
}
Flagged<i64> multiply_add_signed(i32 a, i32 b, i64 c, const Mode& m) {
  const i64 product = i64{a} * b;
  const i64 sum = static_cast<i64>(static_cast<u64>(product) + static_cast<u64>(c));
  const bool overflow = ((product ^ sum) & (c ^ sum)) < 0;
  const i64 limit = c < 0 ? static_cast<i64>(u64{1} << 63) : static_cast<i64>(~(u64{1} << 63));
  return {m.clamp && overflow ? limit : sum, all_ones_if(overflow)};
}

constexpr VectorRow kRows[] = {
    {Op::v_add_u32, vop([](u32 a, u32 b, const Mode& m) { return add(a, b, m); })},
    {Op::v_sub_u32, vop([](u32 a, u32 b, const Mode& m) { return subtract(a, b, m); })},
    {Op::v_subrev_u32, vop([](u32 a, u32 b, const Mode& m) { return subtract(b, a, m); })},
    {Op::v_add_i32, vop([](i32 a, i32 b, const Mode& m) {
       return m.clamp ? saturated(i64{a} + b)
                      : static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b));
     })},
    {Op::v_sub_i32, vop([](i32 a, i32 b, const Mode& m) {
       return m.clamp ? saturated(i64{a} - b)
                      : static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b));
     })},
    {Op::v_add_co_u32, vop([](u32 a, u32 b, const Mode& m) { return add_carry(a, b, false, m); })},
    {Op::v_sub_co_u32,
     vop([](u32 a, u32 b, const Mode& m) { return subtract_borrow(a, b, false, m); })},
    {Op::v_subrev_co_u32,
     vop([](u32 a, u32 b, const Mode& m) { return subtract_borrow(b, a, false, m); })},
    {Op::v_addc_co_u32,
     vop([](u32 a, u32 b, bool c, const Mode& m) { return add_carry(a, b, c, m); })},
    {Op::v_subb_co_u32,
     vop([](u32 a, u32 b, bool c, const Mode& m) { return subtract_borrow(a, b, c, m); })},
    {Op::v_subbrev_co_u32,
     vop([](u32 a, u32 b, bool c, const Mode& m) { return subtract_borrow(b, a, c, m); })},
    {Op::v_min_i32, vop([](i32 a, i32 b) { return a < b ? a : b; })},
    {Op::v_max_i32, vop([](i32 a, i32 b) { return a > b ? a : b; })},
    {Op::v_min_u32, vop([](u32 a, u32 b) { return a < b ? a : b; })},
    {Op::v_max_u32, vop([](u32 a, u32 b) { return a > b ? a : b; })},
    {Op::v_min3_i32, vop([](i32 a, i32 b, i32 c) { return std::min(std::min(a, b), c); })},
    {Op::v_max3_i32, vop([](i32 a, i32 b, i32 c) { return std::max(std::max(a, b), c); })},
    {Op::v_min3_u32, vop([](u32 a, u32 b, u32 c) { return std::min(std::min(a, b), c); })},
    {Op::v_max3_u32, vop([](u32 a, u32 b, u32 c) { return std::max(std::max(a, b), c); })},
    {Op::v_med3_i32, vop([](i32 a, i32 b, i32 c) {
       return std::max(std::min(a, b), std::min(std::max(a, b), c));
     })},
    {Op::v_med3_u32, vop([](u32 a, u32 b, u32 c) {
       return std::max(std::min(a, b), std::min(std::max(a, b), c));
     })},
    {Op::v_add3_u32, vop<hot>([](u32 a, u32 b, u32 c) { return a + b + c; })},
    {Op::v_lshl_add_u32, vop<hot>([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })},
    {Op::v_add_lshl_u32, vop<hot>([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })},
    {Op::v_xad_u32, vop([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })},
    {Op::v_mul_lo_u32, vop<hot>([](u32 a, u32 b) { return a * b; })},
    {Op::v_mul_hi_u32, vop([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })},
    {Op::v_mul_hi_i32, vop([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })},
    {Op::v_mul_u32_u24, vop([](u32 a, u32 b, const Mode& m) {
       const u64 wide = u64{low24(a)} * low24(b);
       return m.clamp ? saturated_unsigned(wide) : static_cast<u32>(wide);
     })},
    {Op::v_mul_hi_u32_u24,
     vop([](u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); })},
    {Op::v_mul_i32_i24, vop([](i32 a, i32 b, const Mode& m) {
       const i64 wide = i64{low24(a)} * low24(b);
       return m.clamp ? saturated(wide) : static_cast<i32>(wide);
     })},
    {Op::v_mul_hi_i32_i24,
     vop([](i32 a, i32 b) { return static_cast<i32>(i64{low24(a)} * low24(b) >> 32); })},
    {Op::v_mad_u32_u24, vop<hot>([](u32 a, u32 b, u32 c, const Mode& m) {
       const u64 wide = u64{low24(a)} * low24(b) + c;
       return m.clamp ? saturated_unsigned(wide) : static_cast<u32>(wide);
     })},
    {Op::v_mad_i32_i24, vop<hot>([](i32 a, i32 b, i32 c, const Mode& m) {
       const i64 wide = i64{low24(a)} * low24(b) + c;
       return m.clamp ? saturated(wide) : static_cast<i32>(wide);
     })},
    {Op::v_mad_u64_u32,
     vop<hot>([](u32 a, u32 b, u64 c, const Mode& m) { return multiply_add(a, b, c, m); })},
    {Op::v_mad_i64_i32,
     vop([](i32 a, i32 b, i64 c, const Mode& m) { return multiply_add_signed(a, b, c, m); })},
};

}  // namespace

std::span<const VectorRow> integer_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
