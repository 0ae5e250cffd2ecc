// 16-bit integer operations.
#include <algorithm>

#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// The 16 bits that a wide result leaves, saturated if the instruction clamps.
u16 fit_unsigned(i64 value, const Mode& m) {
  const i64 limited = value > 65535 ? 65535 : value < 0 ? 0 : value;
  return static_cast<u16>(m.clamp ? limited : value);
}
i16 fit_signed(i64 value, const Mode& m) {
  const i64 limited = value > 32767 ? 32767 : value < -32768 ? -32768 : value;
  return static_cast<i16>(m.clamp ? limited : value);
}

u16 mad_u16(u16 a, u16 b, u16 c, const Mode& m) { return fit_unsigned(i64{a} * b + c, m); }
i16 mad_i16(i16 a, i16 b, i16 c, const Mode& m) { return fit_signed(i64{a} * b + c, m); }

template <class T>
T median(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

constexpr VectorRow kRows[] = {
    {Op::v_add_u16, vop([](u16 a, u16 b, const Mode& m) { return fit_unsigned(a + b, m); })},
    {Op::v_sub_u16, vop([](u16 a, u16 b, const Mode& m) { return fit_unsigned(a - b, m); })},
    {Op::v_subrev_u16, vop([](u16 a, u16 b, const Mode& m) { return fit_unsigned(b - a, m); })},
    {Op::v_add_i16,
     vop<keeping_high>([](i16 a, i16 b, const Mode& m) { return fit_signed(a + b, m); })},
    {Op::v_sub_i16,
     vop<keeping_high>([](i16 a, i16 b, const Mode& m) { return fit_signed(a - b, m); })},
    {Op::v_mul_lo_u16, vop([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })},
    {Op::v_lshlrev_b16, vop([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })},
    {Op::v_lshrrev_b16, vop([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })},
    {Op::v_ashrrev_i16, vop([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })},
    {Op::v_min_u16, vop([](u16 a, u16 b) { return std::min(a, b); })},
    {Op::v_max_u16, vop([](u16 a, u16 b) { return std::max(a, b); })},
    {Op::v_min_i16, vop([](i16 a, i16 b) { return std::min(a, b); })},
    {Op::v_max_i16, vop([](i16 a, i16 b) { return std::max(a, b); })},
    {Op::v_min3_u16,
     vop<keeping_high>([](u16 a, u16 b, u16 c) { return std::min(std::min(a, b), c); })},
    {Op::v_max3_u16,
     vop<keeping_high>([](u16 a, u16 b, u16 c) { return std::max(std::max(a, b), c); })},
    {Op::v_med3_u16, vop<keeping_high>([](u16 a, u16 b, u16 c) { return median(a, b, c); })},
    {Op::v_min3_i16,
     vop<keeping_high>([](i16 a, i16 b, i16 c) { return std::min(std::min(a, b), c); })},
    {Op::v_max3_i16,
     vop<keeping_high>([](i16 a, i16 b, i16 c) { return std::max(std::max(a, b), c); })},
    {Op::v_med3_i16, vop<keeping_high>([](i16 a, i16 b, i16 c) { return median(a, b, c); })},
    {Op::v_mad_u16,
     vop<keeping_high>([](u16 a, u16 b, u16 c, const Mode& m) { return mad_u16(a, b, c, m); })},
    {Op::v_mad_i16,
     vop<keeping_high>([](i16 a, i16 b, i16 c, const Mode& m) { return mad_i16(a, b, c, m); })},
    {Op::v_mad_legacy_u16,
     vop([](u16 a, u16 b, u16 c, const Mode& m) { return mad_u16(a, b, c, m); })},
    {Op::v_mad_legacy_i16,
     vop([](i16 a, i16 b, i16 c, const Mode& m) { return mad_i16(a, b, c, m); })},
    {Op::v_mad_u32_u16, vop([](u16 a, u16 b, u32 c, const Mode& m) {
       const u64 wide = u64{a} * b + c;
       return m.clamp && wide > ~u32{0} ? ~u32{0} : static_cast<u32>(wide);
     })},
    {Op::v_mad_i32_i16, vop([](i16 a, i16 b, i32 c, const Mode& m) {
       const i64 wide = i64{a} * b + c;
       const i64 limited = wide > 0x7fffffff      ? 0x7fffffff
                           : wide < -0x80000000ll ? -0x80000000ll
                                                  : wide;
       return static_cast<i32>(m.clamp ? limited : wide);
     })},
};

}  // namespace

std::span<const VectorRow> short_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
