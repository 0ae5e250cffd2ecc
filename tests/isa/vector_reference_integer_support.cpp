// References of integer and bit operations. Sums and products are formed in 128 bits and cut down.
#include <algorithm>
#include <unordered_map>

#include "isa/vector_reference_support.h"

namespace vgpu::isa::test {
namespace {

using Wide = __int128;

LaneResult word(u64 value) { return {static_cast<u32>(value), false}; }

// `exact` as 32 or 16 bits, or at the limit if the instruction clamps.
LaneResult unsigned_fit(const LaneInputs& in, Wide exact, int width) {
  const Wide limit = (Wide{1} << width) - 1;
  const Wide clamped = std::clamp(exact, Wide{0}, limit);
  return {static_cast<u64>((in.clamp ? clamped : exact) & limit), false};
}
LaneResult signed_fit(const LaneInputs& in, Wide exact, int width) {
  const Wide high = (Wide{1} << (width - 1)) - 1;
  const Wide clamped = std::clamp(exact, -high - 1, high);
  return {static_cast<u64>((in.clamp ? clamped : exact) & ((Wide{1} << width) - 1)), false};
}
LaneResult carry(const LaneInputs& in, Wide exact) {
  LaneResult result = unsigned_fit(in, exact, 32);
  result.flag = exact < 0 || exact >> 32 != 0;
  return result;
}

i32 sext24(u32 v) {
  return v & 0x800000 ? static_cast<i32>(v | 0xff000000) : static_cast<i32>(v & 0xffffff);
}
u32 byte(u64 v, int i) { return v >> (8 * i) & 0xff; }
u32 gap(u32 a, u32 b) { return a < b ? b - a : a - b; }

u32 sad8(u32 a, u32 b, bool masked) {
  u32 sum = 0;
  for (int i = 0; i < 4; ++i) {
    if (!masked || byte(b, i)) {
      sum += gap(byte(a, i), byte(b, i));
    }
  }
  return sum;
}

LaneResult quad(const LaneInputs& in, bool masked) {
  u64 out = 0;
  for (int i = 0; i < 4; ++i) {
    u64 sum = sad8(static_cast<u32>(in.source[0] >> (8 * i)), in.u(1), masked) +
              (in.source[2] >> (16 * i) & 0xffff);
    if (in.clamp) {
      sum = std::min<u64>(sum, 0xffff);
    }
    out |= (sum & 0xffff) << (16 * i);
  }
  return {out, false};
}

template <class T>
T middle(T a, T b, T c) {
  T v[] = {a, b, c};
  std::sort(v, v + 3);
  return v[1];
}

LaneResult dot(const LaneInputs& in, int width, bool is_signed) {
  Wide sum = is_signed ? Wide{in.s(2)} : Wide{in.u(2)};
  for (int shift = 0; shift < 32; shift += width) {
    const u32 mask = (1u << width) - 1;
    Wide a = in.u(0) >> shift & mask, b = in.u(1) >> shift & mask;
    if (is_signed) {
      a -= a >> (width - 1) ? Wide{1} << width : 0;
      b -= b >> (width - 1) ? Wide{1} << width : 0;
    }
    sum += a * b;
  }
  return is_signed ? signed_fit(in, sum, 32) : unsigned_fit(in, sum, 32);
}

LaneResult perm(const LaneInputs& in) {
  const u64 bytes = in.source[0] << 32 | in.u(1);
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    const u32 select = byte(in.u(2), i);
    u32 value = 0xff;
    if (select <= 7) {
      value = byte(bytes, static_cast<int>(select));
    } else if (select <= 11) {
      value = byte(bytes, static_cast<int>(2 * (select - 8) + 1)) & 0x80 ? 0xff : 0;
    } else if (select == 12) {
      value = 0;
    }
    out |= value << (8 * i);
  }
  return word(out);
}

u32 reverse(u32 v) {
  u32 out = 0;
  for (int i = 0; i < 32; ++i) {
    out |= (v >> i & 1) << (31 - i);
  }
  return out;
}

LaneResult first_bit(u32 v) { return word(v ? static_cast<u32>(std::countl_zero(v)) : ~0u); }

LaneResult mad64(const LaneInputs& in, Wide exact, bool is_signed) {
  const Wide low = is_signed ? -(Wide{1} << 63) : Wide{0};
  const Wide high = is_signed ? (Wide{1} << 63) - 1 : (Wide{1} << 64) - 1;
  const Wide value = in.clamp ? std::clamp(exact, low, high) : exact;
  return {static_cast<u64>(value), exact < low || exact > high};
}

u32 lerp(const LaneInputs& in) {
  u32 out = 0;
  for (int i = 0; i < 4; ++i) {
    out |= (byte(in.u(0), i) + byte(in.u(1), i) + (byte(in.u(2), i) & 1)) / 2 << (8 * i);
  }
  return out;
}

u32 saturated_byte(i16 v) { return static_cast<u32>(std::clamp<int>(v, 0, 255)); }

// clang-format off
const std::unordered_map<Op, Reference> kReferences = {
  {Op::v_mov_b32, [](const LaneInputs& in) { return word(in.u(0)); }},
  {Op::v_accvgpr_mov_b32, [](const LaneInputs& in) { return word(in.u(0)); }},
  {Op::v_accvgpr_read_b32, [](const LaneInputs& in) { return word(in.u(0)); }},
  {Op::v_accvgpr_write_b32, [](const LaneInputs& in) { return word(in.u(0)); }},
  {Op::v_cndmask_b32, [](const LaneInputs& in) { return word(in.mask ? in.u(1) : in.u(0)); }},
  {Op::v_not_b32, [](const LaneInputs& in) { return word(~in.u(0)); }},
  {Op::v_bfrev_b32, [](const LaneInputs& in) { return word(reverse(in.u(0))); }},
  {Op::v_ffbh_u32, [](const LaneInputs& in) { return first_bit(in.u(0)); }},
  {Op::v_ffbh_i32, [](const LaneInputs& in) { return first_bit(in.s(0) < 0 ? ~in.u(0) : in.u(0)); }},
  {Op::v_ffbl_b32, [](const LaneInputs& in) { return word(in.u(0) ? static_cast<u32>(std::countr_zero(in.u(0))) : ~0u); }},
  {Op::v_bcnt_u32_b32, [](const LaneInputs& in) { return word(static_cast<u32>(std::popcount(in.u(0))) + in.u(1)); }},
  {Op::v_and_b32, [](const LaneInputs& in) { return word(in.u(0) & in.u(1)); }},
  {Op::v_or_b32, [](const LaneInputs& in) { return word(in.u(0) | in.u(1)); }},
  {Op::v_xor_b32, [](const LaneInputs& in) { return word(in.u(0) ^ in.u(1)); }},
  {Op::v_xnor_b32, [](const LaneInputs& in) { return word(~(in.u(0) ^ in.u(1))); }},
  {Op::v_lshlrev_b32, [](const LaneInputs& in) { return word(in.u(1) << in.u(0) % 32); }},
  {Op::v_lshrrev_b32, [](const LaneInputs& in) { return word(in.u(1) >> in.u(0) % 32); }},
  {Op::v_ashrrev_i32, [](const LaneInputs& in) { return word(static_cast<u32>(in.s(1) >> in.u(0) % 32)); }},
  {Op::v_lshlrev_b64, [](const LaneInputs& in) { return LaneResult{in.source[1] << in.u(0) % 64}; }},
  {Op::v_lshrrev_b64, [](const LaneInputs& in) { return LaneResult{in.source[1] >> in.u(0) % 64}; }},
  {Op::v_ashrrev_i64, [](const LaneInputs& in) { return LaneResult{static_cast<u64>(in.sl(1) >> in.u(0) % 64)}; }},
  {Op::v_bfm_b32, [](const LaneInputs& in) { return word(((u64{1} << in.u(0) % 32) - 1) << in.u(1) % 32); }},
  {Op::v_bfe_u32, [](const LaneInputs& in) { return word((u64{in.u(0)} >> in.u(1) % 32) % (u64{1} << in.u(2) % 32)); }},
  {Op::v_bfe_i32, [](const LaneInputs& in) {
    const int width = static_cast<int>(in.u(2) % 32);
    i64 field = (i64{in.s(0)} >> in.u(1) % 32) & ((i64{1} << width) - 1);
    if (width && field >> (width - 1)) field -= i64{1} << width;
    return word(static_cast<u64>(field)); }},
  {Op::v_bfi_b32, [](const LaneInputs& in) { return word((in.u(0) & in.u(1)) | (~in.u(0) & in.u(2))); }},
  {Op::v_alignbit_b32, [](const LaneInputs& in) { return word((in.source[0] << 32 | in.u(1)) >> in.u(2) % 32); }},
  {Op::v_alignbyte_b32, [](const LaneInputs& in) { return word((in.source[0] << 32 | in.u(1)) >> in.u(2) % 4 * 8); }},
  {Op::v_perm_b32, perm},
  {Op::v_lerp_u8, [](const LaneInputs& in) { return word(lerp(in)); }},

  {Op::v_add_u32, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.u(0)} + in.u(1), 32); }},
  {Op::v_sub_u32, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.u(0)} - in.u(1), 32); }},
  {Op::v_subrev_u32, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.u(1)} - in.u(0), 32); }},
  {Op::v_add_i32, [](const LaneInputs& in) { return signed_fit(in, Wide{in.s(0)} + in.s(1), 32); }},
  {Op::v_sub_i32, [](const LaneInputs& in) { return signed_fit(in, Wide{in.s(0)} - in.s(1), 32); }},
  {Op::v_add_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(0)} + in.u(1)); }},
  {Op::v_sub_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(0)} - in.u(1)); }},
  {Op::v_subrev_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(1)} - in.u(0)); }},
  {Op::v_addc_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(0)} + in.u(1) + in.mask); }},
  {Op::v_subb_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(0)} - in.u(1) - in.mask); }},
  {Op::v_subbrev_co_u32, [](const LaneInputs& in) { return carry(in, Wide{in.u(1)} - in.u(0) - in.mask); }},
  {Op::v_add3_u32, [](const LaneInputs& in) { return word(u64{in.u(0)} + in.u(1) + in.u(2)); }},
  {Op::v_lshl_add_u32, [](const LaneInputs& in) { return word((in.u(0) << in.u(1) % 32) + in.u(2)); }},
  {Op::v_add_lshl_u32, [](const LaneInputs& in) { return word((in.u(0) + in.u(1)) << in.u(2) % 32); }},
  {Op::v_lshl_or_b32, [](const LaneInputs& in) { return word((in.u(0) << in.u(1) % 32) | in.u(2)); }},
  {Op::v_and_or_b32, [](const LaneInputs& in) { return word((in.u(0) & in.u(1)) | in.u(2)); }},
  {Op::v_or3_b32, [](const LaneInputs& in) { return word(in.u(0) | in.u(1) | in.u(2)); }},
  {Op::v_xad_u32, [](const LaneInputs& in) { return word((in.u(0) ^ in.u(1)) + in.u(2)); }},

  {Op::v_min_i32, [](const LaneInputs& in) { return word(static_cast<u32>(std::min(in.s(0), in.s(1)))); }},
  {Op::v_max_i32, [](const LaneInputs& in) { return word(static_cast<u32>(std::max(in.s(0), in.s(1)))); }},
  {Op::v_min_u32, [](const LaneInputs& in) { return word(std::min(in.u(0), in.u(1))); }},
  {Op::v_max_u32, [](const LaneInputs& in) { return word(std::max(in.u(0), in.u(1))); }},
  {Op::v_min3_i32, [](const LaneInputs& in) { return word(static_cast<u32>(std::min({in.s(0), in.s(1), in.s(2)}))); }},
  {Op::v_max3_i32, [](const LaneInputs& in) { return word(static_cast<u32>(std::max({in.s(0), in.s(1), in.s(2)}))); }},
  {Op::v_med3_i32, [](const LaneInputs& in) { return word(static_cast<u32>(middle(in.s(0), in.s(1), in.s(2)))); }},
  {Op::v_min3_u32, [](const LaneInputs& in) { return word(std::min({in.u(0), in.u(1), in.u(2)})); }},
  {Op::v_max3_u32, [](const LaneInputs& in) { return word(std::max({in.u(0), in.u(1), in.u(2)})); }},
  {Op::v_med3_u32, [](const LaneInputs& in) { return word(middle(in.u(0), in.u(1), in.u(2))); }},

  {Op::v_mul_lo_u32, [](const LaneInputs& in) { return word(u64{in.u(0)} * in.u(1)); }},
  {Op::v_mul_hi_u32, [](const LaneInputs& in) { return word(u64{in.u(0)} * in.u(1) >> 32); }},
  {Op::v_mul_hi_i32, [](const LaneInputs& in) { return word(static_cast<u64>(i64{in.s(0)} * in.s(1) >> 32)); }},
  {Op::v_mul_u32_u24, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.u(0) & 0xffffff} * (in.u(1) & 0xffffff), 32); }},
  {Op::v_mul_hi_u32_u24, [](const LaneInputs& in) { return word(u64{in.u(0) & 0xffffff} * (in.u(1) & 0xffffff) >> 32); }},
  {Op::v_mul_i32_i24, [](const LaneInputs& in) { return signed_fit(in, Wide{sext24(in.u(0))} * sext24(in.u(1)), 32); }},
  {Op::v_mul_hi_i32_i24, [](const LaneInputs& in) { return word(static_cast<u64>(i64{sext24(in.u(0))} * sext24(in.u(1)) >> 32)); }},
  {Op::v_mad_u32_u24, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.u(0) & 0xffffff} * (in.u(1) & 0xffffff) + in.u(2), 32); }},
  {Op::v_mad_i32_i24, [](const LaneInputs& in) { return signed_fit(in, Wide{sext24(in.u(0))} * sext24(in.u(1)) + in.s(2), 32); }},
  {Op::v_mad_u64_u32, [](const LaneInputs& in) { return mad64(in, Wide{in.u(0)} * in.u(1) + in.source[2], false); }},
  {Op::v_mad_i64_i32, [](const LaneInputs& in) { return mad64(in, Wide{in.s(0)} * in.s(1) + in.sl(2), true); }},

  {Op::v_sad_u8, [](const LaneInputs& in) { return unsigned_fit(in, Wide{sad8(in.u(0), in.u(1), false)} + in.u(2), 32); }},
  {Op::v_sad_hi_u8, [](const LaneInputs& in) { return unsigned_fit(in, (Wide{sad8(in.u(0), in.u(1), false)} << 16) + in.u(2), 32); }},
  {Op::v_msad_u8, [](const LaneInputs& in) { return unsigned_fit(in, Wide{sad8(in.u(0), in.u(1), true)} + in.u(2), 32); }},
  {Op::v_sad_u16, [](const LaneInputs& in) {
    return unsigned_fit(in, Wide{gap(in.u(0) & 0xffff, in.u(1) & 0xffff)} + gap(in.u(0) >> 16, in.u(1) >> 16) + in.u(2), 32); }},
  {Op::v_sad_u32, [](const LaneInputs& in) { return unsigned_fit(in, Wide{gap(in.u(0), in.u(1))} + in.u(2), 32); }},
  {Op::v_qsad_pk_u16_u8, [](const LaneInputs& in) { return quad(in, false); }},
  {Op::v_mqsad_pk_u16_u8, [](const LaneInputs& in) { return quad(in, true); }},

  {Op::v_add_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(0)} + in.hu(1), 16); }},
  {Op::v_sub_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(0)} - in.hu(1), 16); }},
  {Op::v_subrev_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(1)} - in.hu(0), 16); }},
  {Op::v_add_i16, [](const LaneInputs& in) { return signed_fit(in, Wide{in.hs(0)} + in.hs(1), 16); }},
  {Op::v_sub_i16, [](const LaneInputs& in) { return signed_fit(in, Wide{in.hs(0)} - in.hs(1), 16); }},
  {Op::v_mul_lo_u16, [](const LaneInputs& in) { return word(in.hu(0) * u32{in.hu(1)} & 0xffff); }},
  {Op::v_lshlrev_b16, [](const LaneInputs& in) { return word(u32{in.hu(1)} << in.hu(0) % 16 & 0xffff); }},
  {Op::v_lshrrev_b16, [](const LaneInputs& in) { return word(in.hu(1) >> in.hu(0) % 16); }},
  {Op::v_ashrrev_i16, [](const LaneInputs& in) { return word((in.hs(1) >> in.hu(0) % 16) & 0xffff); }},
  {Op::v_min_u16, [](const LaneInputs& in) { return word(std::min(in.hu(0), in.hu(1))); }},
  {Op::v_max_u16, [](const LaneInputs& in) { return word(std::max(in.hu(0), in.hu(1))); }},
  {Op::v_min_i16, [](const LaneInputs& in) { return word(std::min(in.hs(0), in.hs(1)) & 0xffff); }},
  {Op::v_max_i16, [](const LaneInputs& in) { return word(std::max(in.hs(0), in.hs(1)) & 0xffff); }},
  {Op::v_min3_u16, [](const LaneInputs& in) { return word(std::min({in.hu(0), in.hu(1), in.hu(2)})); }},
  {Op::v_max3_u16, [](const LaneInputs& in) { return word(std::max({in.hu(0), in.hu(1), in.hu(2)})); }},
  {Op::v_med3_u16, [](const LaneInputs& in) { return word(middle(in.hu(0), in.hu(1), in.hu(2))); }},
  {Op::v_min3_i16, [](const LaneInputs& in) { return word(std::min({in.hs(0), in.hs(1), in.hs(2)}) & 0xffff); }},
  {Op::v_max3_i16, [](const LaneInputs& in) { return word(std::max({in.hs(0), in.hs(1), in.hs(2)}) & 0xffff); }},
  {Op::v_med3_i16, [](const LaneInputs& in) { return word(middle(in.hs(0), in.hs(1), in.hs(2)) & 0xffff); }},
  {Op::v_mad_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(0)} * in.hu(1) + in.hu(2), 16); }},
  {Op::v_mad_i16, [](const LaneInputs& in) { return signed_fit(in, Wide{in.hs(0)} * in.hs(1) + in.hs(2), 16); }},
  {Op::v_mad_legacy_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(0)} * in.hu(1) + in.hu(2), 16); }},
  {Op::v_mad_legacy_i16, [](const LaneInputs& in) { return signed_fit(in, Wide{in.hs(0)} * in.hs(1) + in.hs(2), 16); }},
  {Op::v_mad_u32_u16, [](const LaneInputs& in) { return unsigned_fit(in, Wide{in.hu(0)} * in.hu(1) + in.u(2), 32); }},
  {Op::v_mad_i32_i16, [](const LaneInputs& in) { return signed_fit(in, Wide{in.hs(0)} * in.hs(1) + in.s(2), 32); }},

  {Op::v_cvt_pk_i16_i32, [](const LaneInputs& in) {
    return word((static_cast<u32>(std::clamp(in.s(0), -32768, 32767)) & 0xffff) | static_cast<u32>(std::clamp(in.s(1), -32768, 32767)) << 16); }},
  {Op::v_cvt_pk_u16_u32, [](const LaneInputs& in) { return word(std::min(in.u(0), 65535u) | std::min(in.u(1), 65535u) << 16); }},
  {Op::v_sat_pk_u8_i16, [](const LaneInputs& in) {
    return word(saturated_byte(in.hs(0)) | saturated_byte(static_cast<i16>(in.u(0) >> 16)) << 8); }},
  {Op::v_pack_b32_f16, [](const LaneInputs& in) { return word(in.hu(0) | u32{in.hu(1)} << 16); }},

  {Op::v_dot2_i32_i16, [](const LaneInputs& in) { return dot(in, 16, true); }},
  {Op::v_dot2_u32_u16, [](const LaneInputs& in) { return dot(in, 16, false); }},
  {Op::v_dot4_i32_i8, [](const LaneInputs& in) { return dot(in, 8, true); }},
  {Op::v_dot4_u32_u8, [](const LaneInputs& in) { return dot(in, 8, false); }},
  {Op::v_dot8_i32_i4, [](const LaneInputs& in) { return dot(in, 4, true); }},
  {Op::v_dot8_u32_u4, [](const LaneInputs& in) { return dot(in, 4, false); }},
  {Op::v_dot2c_i32_i16, [](const LaneInputs& in) { return dot(in, 16, true); }},
  {Op::v_dot4c_i32_i8, [](const LaneInputs& in) { return dot(in, 8, true); }},
  {Op::v_dot8c_i32_i4, [](const LaneInputs& in) { return dot(in, 4, true); }},
};
// clang-format on

}  // namespace

Reference integer_reference(Op op) {
  const auto found = kReferences.find(op);
  return found == kReferences.end() ? nullptr : found->second;
}

}  // namespace vgpu::isa::test
