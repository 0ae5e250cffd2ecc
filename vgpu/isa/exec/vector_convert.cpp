// Conversions. To integers they truncate and saturate; NaN becomes 0.
#include "isa/exec/vector_float.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class T>
i32 to_i32(T value) {
  const bool in_range = value > T(-2147483648.0) && value < T(2147483648.0);
  const i32 result = static_cast<i32>(in_range ? value : T(0));
  const i32 limit = value > T(0) ? 0x7fffffff : static_cast<i32>(0x80000000);
  return in_range ? result : value == value ? limit : 0;
}

template <class T>
u32 to_u32(T value) {
  // AVX2 converts to signed integers only.
  const bool upper = value >= T(2147483648.0);
  const T moved = upper ? value - T(2147483648.0) : value;
  const bool in_range = moved > T(-1) && moved < T(2147483648.0);
  const u32 result = static_cast<u32>(static_cast<i32>(in_range ? moved : T(0)));
  const u32 limit = value > T(0) ? ~0u : 0u;
  return in_range ? result + (upper ? 0x80000000u : 0u) : limit;
}

// Saturating conversions of values that are small enough for i32.
i16 to_i16(float value) {
  const i32 wide = to_i32(value);
  return static_cast<i16>(wide > 32767 ? 32767 : wide < -32768 ? -32768 : wide);
}
u16 to_u16(float value) {
  const i32 wide = to_i32(value);
  return static_cast<u16>(wide > 65535 ? 65535 : wide < 0 ? 0 : wide);
}

// Normalised: [-1, 1] and [0, 1] to the full range of 16 bits, to the nearest integer in every
// rounding mode. The product is exact in double precision.
i16 to_snorm16(float value) {
  const float clamped = value > 1.0f ? 1.0f : value < -1.0f ? -1.0f : value;
  return to_i16(static_cast<float>(round_to_even(clamped * 32767.0)));
}
u16 to_unorm16(float value) {
  const float clamped = value > 1.0f ? 1.0f : value < 0.0f ? 0.0f : value;
  return to_u16(static_cast<float>(round_to_even(clamped * 65535.0)));
}

u32 pair(u32 low, u32 high) { return (low & 0xffff) | high << 16; }

i32 saturated_i16(i32 value) { return value > 32767 ? 32767 : value < -32768 ? -32768 : value; }
u32 saturated_u16(u32 value) { return value > 65535 ? 65535 : value; }
u32 saturated_u8(i16 value) { return value > 255 ? 255 : value < 0 ? 0 : static_cast<u32>(value); }

u32 byte_as_float(u32 word, u32 index) {
  return std::bit_cast<u32>(static_cast<float>(static_cast<i32>(word >> (8 * index) & 0xff)));
}

// One byte of `word`, chosen by the low bits of `index`, is replaced. The manual does not say how
// the value is rounded; like the other conversions to integers it is truncated here.
u32 with_byte(float value, u32 index, u32 word) {
  const u32 byte = to_u32(value > 255.0f ? 255.0f : value);
  const u32 shift = (index & 3) * 8;
  return (word & ~(0xffu << shift)) | byte << shift;
}

// V_CVT_PKRTZ rounds toward zero in every mode; its clamp works on the values.
u32 half_toward_zero(float value, const Mode& m) {
  const float limited = value > 0.0f ? (value < 1.0f ? value : 1.0f) : 0.0f;
  const bool clamps = m.clamp && (value == value || m.dx10_clamp);
  return _cvtss_sh(clamps ? limited : value, _MM_FROUND_TO_ZERO);
}

constexpr VectorRow kRows[] = {
    {Op::v_cvt_i32_f32, vop([](float a) { return to_i32(a); })},
    {Op::v_cvt_u32_f32, vop([](float a) { return to_u32(a); })},
    {Op::v_cvt_i32_f64, vop([](double a) { return to_i32(a); })},
    {Op::v_cvt_u32_f64, vop([](double a) { return to_u32(a); })},
    {Op::v_cvt_rpi_i32_f32, vop([](float a) { return to_i32(__builtin_floorf(a + 0.5f)); })},
    {Op::v_cvt_flr_i32_f32, vop([](float a) { return to_i32(__builtin_floorf(a)); })},
    {Op::v_cvt_f32_i32, vop([](i32 a) { return static_cast<float>(a); })},
    {Op::v_cvt_f32_u32, vop([](u32 a) { return static_cast<float>(a); })},
    {Op::v_cvt_f64_i32, vop([](i32 a) { return static_cast<double>(a); })},
    {Op::v_cvt_f64_u32, vop([](u32 a) { return static_cast<double>(a); })},
    {Op::v_cvt_f32_f64,
     vop([](double a, const Mode& m) { return static_cast<float>(narrowing_source(a, m)); })},
    {Op::v_cvt_f64_f32, vop([](float a) { return static_cast<double>(a); })},
    {Op::v_cvt_f32_f16, vop([](half a) { return a.value; })},
    {Op::v_cvt_f16_f32, vop([](float a, const Mode& m) { return half(narrowing_source(a, m)); })},
    {Op::v_cvt_f16_u16, vop([](u16 a) { return half(static_cast<float>(a)); })},
    {Op::v_cvt_f16_i16, vop([](i16 a) { return half(static_cast<float>(a)); })},
    {Op::v_cvt_u16_f16, vop([](half a) { return to_u16(a); })},
    {Op::v_cvt_i16_f16, vop([](half a) { return to_i16(a); })},
    {Op::v_cvt_norm_i16_f16, vop([](half a) { return to_snorm16(a); })},
    {Op::v_cvt_norm_u16_f16, vop([](half a) { return to_unorm16(a); })},
    {Op::v_cvt_f32_ubyte0, vop([](u32 a) { return std::bit_cast<float>(byte_as_float(a, 0)); })},
    {Op::v_cvt_f32_ubyte1, vop([](u32 a) { return std::bit_cast<float>(byte_as_float(a, 1)); })},
    {Op::v_cvt_f32_ubyte2, vop([](u32 a) { return std::bit_cast<float>(byte_as_float(a, 2)); })},
    {Op::v_cvt_f32_ubyte3, vop([](u32 a) { return std::bit_cast<float>(byte_as_float(a, 3)); })},
    // A signed nibble in sixteenths.
    {Op::v_cvt_off_f32_i4,
     vop([](u32 a) { return static_cast<float>(static_cast<i32>(a << 28) >> 28) * 0.0625f; })},
    {Op::v_cvt_pkrtz_f16_f32, vop([](float a, float b, const Mode& m) {
       return half_toward_zero(a, m) | half_toward_zero(b, m) << 16;
     })},
    {Op::v_cvt_pknorm_i16_f32,
     vop([](float a, float b) { return pair(to_snorm16(a), to_snorm16(b)); })},
    {Op::v_cvt_pknorm_u16_f32,
     vop([](float a, float b) { return pair(to_unorm16(a), to_unorm16(b)); })},
    {Op::v_cvt_pknorm_i16_f16,
     vop([](half a, half b) { return pair(to_snorm16(a), to_snorm16(b)); })},
    {Op::v_cvt_pknorm_u16_f16,
     vop([](half a, half b) { return pair(to_unorm16(a), to_unorm16(b)); })},
    {Op::v_cvt_pk_i16_i32, vop([](i32 a, i32 b) {
       return pair(static_cast<u32>(saturated_i16(a)), static_cast<u32>(saturated_i16(b)));
     })},
    {Op::v_cvt_pk_u16_u32,
     vop([](u32 a, u32 b) { return pair(saturated_u16(a), saturated_u16(b)); })},
    {Op::v_cvt_pk_u8_f32, vop([](float a, u32 b, u32 c) { return with_byte(a, b, c); })},
    {Op::v_cvt_pkaccum_u8_f32,
     vop<accumulating>([](float a, u32 b, u32 c) { return with_byte(a, b, c); })},
    {Op::v_sat_pk_u8_i16, vop([](u32 a) {
       return static_cast<u16>(saturated_u8(static_cast<i16>(a)) |
                               saturated_u8(static_cast<i16>(a >> 16)) << 8);
     })},
};

}  // namespace

std::span<const VectorRow> convert_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
