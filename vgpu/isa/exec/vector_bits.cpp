// Moves, selection, shifts and bit fields.
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

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

constexpr VectorRow kRows[] = {
    {Op::v_mov_b32, vop([](u32 a) { return a; })},
    {Op::v_accvgpr_read_b32, vop([](u32 a) { return a; })},
    {Op::v_accvgpr_write_b32, vop([](u32 a) { return a; })},
    {Op::v_accvgpr_mov_b32, vop([](u32 a) { return a; })},
    {Op::v_cndmask_b32, vop([](u32 a, u32 b, bool select) { return select ? b : a; })},
    {Op::v_lshlrev_b32, vop([](u32 a, u32 b) { return b << (a & 31); })},
    {Op::v_lshrrev_b32, vop([](u32 a, u32 b) { return b >> (a & 31); })},
    {Op::v_ashrrev_i32, vop([](u32 a, i32 b) { return b >> (a & 31); })},
    {Op::v_lshlrev_b64, vop<hot>([](u32 a, u64 b) { return b << (a & 63); })},
    {Op::v_lshrrev_b64, vop([](u32 a, u64 b) { return b >> (a & 63); })},
    {Op::v_ashrrev_i64, vop([](u32 a, i64 b) { return b >> (a & 63); })},
    {Op::v_and_b32, vop([](u32 a, u32 b) { return a & b; })},
    {Op::v_or_b32, vop([](u32 a, u32 b) { return a | b; })},
    {Op::v_xor_b32, vop([](u32 a, u32 b) { return a ^ b; })},
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
    {Op::v_lshl_or_b32, vop<hot>([](u32 a, u32 b, u32 c) { return (a << (b & 31)) | c; })},
    {Op::v_and_or_b32, vop<hot>([](u32 a, u32 b, u32 c) { return (a & b) | c; })},
    {Op::v_or3_b32, vop([](u32 a, u32 b, u32 c) { return a | b | c; })},
};

}  // namespace

std::span<const VectorRow> bit_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
