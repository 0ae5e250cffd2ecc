// 32- and 64-bit integer and bit operations.
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

Flagged<u32> add_carry(u32 a, u32 b, bool carry, const Mode& m) {
  const u32 sum = a + b + carry;
  const bool out = carry ? sum <= a : sum < a;
  return {m.clamp && out ? ~u32{0} : sum, out};
}
Flagged<u32> subtract_borrow(u32 a, u32 b, bool borrow, const Mode& m) {
  const bool out = borrow ? a <= b : a < b;
  return {m.clamp && out ? 0 : a - b - borrow, out};
}

i32 low24(i32 value) { return static_cast<i32>(static_cast<u32>(value) << 8) >> 8; }
u32 low24(u32 value) { return value & 0xffffff; }

u32 extract(u32 word, u32 offset, u32 width) {
  return word >> (offset & 31) & ((u32{1} << (width & 31)) - 1);
}
i32 extract_signed(i32 word, u32 offset, u32 width) {
  const u32 size = width & 31;
  const u32 spare = (32 - size) & 31;
  const i32 shifted = word >> (offset & 31);
  const i32 field = static_cast<i32>(static_cast<u32>(shifted) << spare) >> spare;
  return size == 0 ? 0 : field;
}

// Leading zeros without a branch: the position of the highest bit through a double's exponent.
i32 highest_bit(u32 value) {
  return static_cast<i32>(std::bit_cast<u64>(static_cast<double>(value)) >> 52) - 1023;
}
i32 find_high_unsigned(u32 value) { return value == 0 ? -1 : 31 - highest_bit(value); }
i32 find_high_signed(i32 value) {
  const u32 differing = static_cast<u32>(value ^ (value >> 31));
  return differing == 0 ? -1 : 31 - highest_bit(differing);
}
i32 find_low(u32 value) { return value == 0 ? -1 : highest_bit(value & -value); }

u32 reversed(u32 v) {
  v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
  v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
  v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
  v = (v >> 8 & 0x00ff00ff) | (v & 0x00ff00ff) << 8;
  return v >> 16 | v << 16;
}

u32 population(u32 v) {
  v = v - (v >> 1 & 0x55555555);
  v = (v & 0x33333333) + (v >> 2 & 0x33333333);
  return ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// One byte of V_PERM: 0..7 pick from the eight bytes, 8..11 the sign of byte 1, 3, 5 or 7, 12 is
// zero and the rest are all ones.
u32 permuted_byte(u64 bytes, u32 selector) {
  const u32 picked = static_cast<u32>(bytes >> (8 * (selector & 7))) & 0xff;
  const u32 sign = -static_cast<u32>(bytes >> (16 * (selector & 3) + 15) & 1) & 0xff;
  return selector < 8 ? picked : selector < 12 ? sign : selector == 12 ? 0 : 0xff;
}
u32 permute(u32 a, u32 b, u32 selectors) {
  const u64 bytes = u64{a} << 32 | b;
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    result |= permuted_byte(bytes, selectors >> (8 * i) & 0xff) << (8 * i);
  }
  return result;
}

Flagged<u64> multiply_add(u32 a, u32 b, u64 c, const Mode& m) {
  const u64 sum = u64{a} * b + c;
  const bool overflow = sum < c;
  return {m.clamp && overflow ? ~u64{0} : sum, overflow};
}
Flagged<i64> multiply_add_signed(i32 a, i32 b, i64 c, const Mode& m) {
  const i64 product = i64{a} * b;
  const i64 sum = static_cast<i64>(static_cast<u64>(product) + static_cast<u64>(c));
  const bool overflow = ((product ^ sum) & (c ^ sum)) < 0;
  const i64 limit = c < 0 ? static_cast<i64>(u64{1} << 63) : static_cast<i64>(~(u64{1} << 63));
  return {m.clamp && overflow ? limit : sum, overflow};
}

constexpr VectorRow kRows[] = {
    {Op::v_mov_b32, vop<hot>([](u32 a) { return a; })},
    {Op::v_accvgpr_read_b32, vop<hot>([](u32 a) { return a; })},
    {Op::v_accvgpr_write_b32, vop<hot>([](u32 a) { return a; })},
    {Op::v_accvgpr_mov_b32, vop<hot>([](u32 a) { return a; })},
    {Op::v_cndmask_b32, vop<hot>([](u32 a, u32 b, bool select) { return select ? b : a; })},

    {Op::v_add_u32, vop<hot>([](u32 a, u32 b, const Mode& m) { return add(a, b, m); })},
    {Op::v_sub_u32, vop<hot>([](u32 a, u32 b, const Mode& m) { return subtract(a, b, m); })},
    {Op::v_subrev_u32, vop<hot>([](u32 a, u32 b, const Mode& m) { return subtract(b, a, m); })},
    {Op::v_add_i32, vop([](i32 a, i32 b, const Mode& m) {
       return m.clamp ? saturated(i64{a} + b)
                      : static_cast<i32>(static_cast<u32>(a) + static_cast<u32>(b));
     })},
    {Op::v_sub_i32, vop([](i32 a, i32 b, const Mode& m) {
       return m.clamp ? saturated(i64{a} - b)
                      : static_cast<i32>(static_cast<u32>(a) - static_cast<u32>(b));
     })},
    {Op::v_add_co_u32,
     vop<hot>([](u32 a, u32 b, const Mode& m) { return add_carry(a, b, false, m); })},
    {Op::v_sub_co_u32,
     vop([](u32 a, u32 b, const Mode& m) { return subtract_borrow(a, b, false, m); })},
    {Op::v_subrev_co_u32,
     vop([](u32 a, u32 b, const Mode& m) { return subtract_borrow(b, a, false, m); })},
    {Op::v_addc_co_u32,
     vop<hot>([](u32 a, u32 b, bool c, const Mode& m) { return add_carry(a, b, c, m); })},
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

    {Op::v_lshlrev_b32, vop<hot>([](u32 a, u32 b) { return b << (a & 31); })},
    {Op::v_lshrrev_b32, vop<hot>([](u32 a, u32 b) { return b >> (a & 31); })},
    {Op::v_ashrrev_i32, vop<hot>([](u32 a, i32 b) { return b >> (a & 31); })},
    {Op::v_lshlrev_b64, vop<hot>([](u32 a, u64 b) { return b << (a & 63); })},
    {Op::v_lshrrev_b64, vop([](u32 a, u64 b) { return b >> (a & 63); })},
    {Op::v_ashrrev_i64, vop([](u32 a, i64 b) { return b >> (a & 63); })},
    {Op::v_and_b32, vop<hot>([](u32 a, u32 b) { return a & b; })},
    {Op::v_or_b32, vop<hot>([](u32 a, u32 b) { return a | b; })},
    {Op::v_xor_b32, vop<hot>([](u32 a, u32 b) { return a ^ b; })},
    {Op::v_xnor_b32, vop([](u32 a, u32 b) { return ~(a ^ b); })},
    {Op::v_not_b32, vop([](u32 a) { return ~a; })},
    {Op::v_bfrev_b32, vop([](u32 a) { return reversed(a); })},
    {Op::v_ffbh_u32, vop([](u32 a) { return find_high_unsigned(a); })},
    {Op::v_ffbh_i32, vop([](i32 a) { return find_high_signed(a); })},
    {Op::v_ffbl_b32, vop([](u32 a) { return find_low(a); })},
    {Op::v_bcnt_u32_b32, vop([](u32 a, u32 b) { return population(a) + b; })},
    {Op::v_bfm_b32, vop([](u32 a, u32 b) { return ((u32{1} << (a & 31)) - 1) << (b & 31); })},
    {Op::v_bfe_u32, vop<hot>([](u32 a, u32 b, u32 c) { return extract(a, b, c); })},
    {Op::v_bfe_i32, vop([](i32 a, u32 b, u32 c) { return extract_signed(a, b, c); })},
    {Op::v_bfi_b32, vop([](u32 a, u32 b, u32 c) { return (a & b) | (~a & c); })},
    {Op::v_alignbit_b32,
     vop([](u32 a, u32 b, u32 c) { return static_cast<u32>((u64{a} << 32 | b) >> (c & 31)); })},
    {Op::v_alignbyte_b32, vop([](u32 a, u32 b, u32 c) {
       return static_cast<u32>((u64{a} << 32 | b) >> (8 * (c & 3)));
     })},
    {Op::v_perm_b32, vop([](u32 a, u32 b, u32 c) { return permute(a, b, c); })},

    {Op::v_add3_u32, vop<hot>([](u32 a, u32 b, u32 c) { return a + b + c; })},
    {Op::v_lshl_add_u32, vop<hot>([](u32 a, u32 b, u32 c) { return (a << (b & 31)) + c; })},
    {Op::v_add_lshl_u32, vop<hot>([](u32 a, u32 b, u32 c) { return (a + b) << (c & 31); })},
    {Op::v_lshl_or_b32, vop<hot>([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; })},
    {Op::v_and_or_b32, vop<hot>([](u32 a, u32 b, u32 c) { return (a & b) | c; })},
    {Op::v_or3_b32, vop([](u32 a, u32 b, u32 c) { return a | b | c; })},
    {Op::v_xad_u32, vop([](u32 a, u32 b, u32 c) { return (a ^ b) + c; })},

    {Op::v_mul_lo_u32, vop<hot>([](u32 a, u32 b) { return a * b; })},
    {Op::v_mul_hi_u32, vop([](u32 a, u32 b) { return static_cast<u32>(u64{a} * b >> 32); })},
    {Op::v_mul_hi_i32, vop([](i32 a, i32 b) { return static_cast<i32>(i64{a} * b >> 32); })},
    {Op::v_mul_u32_u24, vop<hot>([](u32 a, u32 b, const Mode& m) {
       const u64 wide = u64{low24(a)} * low24(b);
       return m.clamp ? saturated_unsigned(wide) : static_cast<u32>(wide);
     })},
    {Op::v_mul_hi_u32_u24,
     vop([](u32 a, u32 b) { return static_cast<u32>(u64{low24(a)} * low24(b) >> 32); })},
    {Op::v_mul_i32_i24, vop<hot>([](i32 a, i32 b, const Mode& m) {
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
