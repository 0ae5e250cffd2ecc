// Sums of absolute differences, byte averages and cube-map helpers.
#include <array>

#include "isa/exec/vector_float.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
u32 byte_of(u32 word, u32 index) { return word >> (8 * index) & 0xff; }

u32 sad_u8(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    sum += distance(byte_of(a, i), byte_of(b, i));
  }
  return sum;
}

// Masked: bytes that are zero in the reference b do not count.
u32 msad_u8(u32 a, u32 b) {
  u32 sum = 0;
  for (u32 i = 0; i < 4; ++i) {
    sum += byte_of(b, i) != 0 ? distance(byte_of(a, i), byte_of(b, i)) : 0;
  }
  return sum;
}

u32 sad_u16(u32 a, u32 b) { return distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16); }

u32 accumulate(u64 sum, u32 accumulator, const Mode& m) {
  const u64 wide = sum + accumulator;
  return m.clamp && wide > ~u32{0} ? ~u32{0} : static_cast<u32>(wide);
}

// The four overlapping windows of 32 bits, one byte apart.
u32 window(u64 bytes, u32 index) { return static_cast<u32>(bytes >> (8 * index)); }

template <auto Sad>
u64 quad_sad(u64 a, u32 b, u64 accumulators, const Mode& m) {
  u64 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 sum = Sad(window(a, i), b) + static_cast<u32>(accumulators >> (16 * i) & 0xffff);
    const u32 limited = m.clamp && sum > 0xffff ? 0xffff : sum;
    result |= u64{limited & 0xffff} << (16 * i);
  }
  return result;
}

// V_MQSAD_U32_U8: the same with four 32-bit accumulators, so source 2 and the destination are four
// registers.
void mqsad_u32(Wave& wave, const Inst& inst) {
  const u64 exec = wave.exec();
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneArray source;
  LaneBuffer reference_buffer;
  std::array<LaneBuffer, 4> result;
  const auto* bytes = static_cast<const u64*>(
      stage_source(wave, inst, inst.src[0], 0, Kind::b64, {}, mode, source));
  const u32* reference = lanes32(wave, inst, inst.src[1], reference_buffer);
  for (u32 i = 0; i < 4; ++i) {
    LaneBuffer buffer;
    const u16 code = is_vector(inst.src[2]) ? static_cast<u16>(inst.src[2] + i) : inst.src[2];
    const u32* accumulator = lanes32(wave, inst, code, buffer);
    for (int lane = 0; lane < kLanes; ++lane) {
      result[i].lane[lane] =
          accumulate(msad_u8(window(bytes[lane], i), reference[lane]), accumulator[lane], mode);
    }
  }
  for (u32 i = 0; i < 4; ++i) {
    store_lanes(vector(wave, static_cast<u16>(inst.dst + i)), result[i].lane, exec);
  }
}

u32 average_u8(u32 a, u32 b, u32 round) {
  u32 result = 0;
  for (u32 i = 0; i < 4; ++i) {
    const u32 sum = byte_of(a, i) + byte_of(b, i) + (byte_of(round, i) & 1);
    result |= (sum >> 1) << (8 * i);
  }
  return result;
}

// Cube maps: the major axis is the largest component; z before y before x where they tie.
struct Cube {
  float x, y, z;
  Cube(float x_in, float y_in, float z_in, const Mode& m)
      : x(flushed_source(x_in, m)), y(flushed_source(y_in, m)), z(flushed_source(z_in, m)) {}
  bool on_z() const {
    return __builtin_fabsf(z) >= __builtin_fabsf(x) && __builtin_fabsf(z) >= __builtin_fabsf(y);
  }
  bool on_y() const { return !on_z() && __builtin_fabsf(y) >= __builtin_fabsf(x); }
  float face() const {
    return on_z()   ? (z < 0.0f ? 5.0f : 4.0f)
           : on_y() ? (y < 0.0f ? 3.0f : 2.0f)
                    : (x < 0.0f ? 1.0f : 0.0f);
  }
  float s() const { return on_z() ? (z < 0.0f ? -x : x) : on_y() ? x : (x < 0.0f ? z : -z); }
  float t() const { return on_y() ? (y < 0.0f ? -z : z) : -y; }
  float major() const { return on_z() ? z : on_y() ? y : x; }
};

constexpr VectorRow kRows[] = {
    {Op::v_sad_u8,
     vop([](u32 a, u32 b, u32 c, const Mode& m) { return accumulate(sad_u8(a, b), c, m); })},
    {Op::v_sad_hi_u8, vop([](u32 a, u32 b, u32 c, const Mode& m) {
       return accumulate(u64{sad_u8(a, b)} << 16, c, m);
     })},
    {Op::v_sad_u16,
     vop([](u32 a, u32 b, u32 c, const Mode& m) { return accumulate(sad_u16(a, b), c, m); })},
    {Op::v_sad_u32,
     vop([](u32 a, u32 b, u32 c, const Mode& m) { return accumulate(distance(a, b), c, m); })},
    {Op::v_msad_u8,
     vop([](u32 a, u32 b, u32 c, const Mode& m) { return accumulate(msad_u8(a, b), c, m); })},
    {Op::v_qsad_pk_u16_u8,
     vop<rare>([](u64 a, u32 b, u64 c, const Mode& m) { return quad_sad<sad_u8>(a, b, c, m); })},
    {Op::v_mqsad_pk_u16_u8,
     vop<rare>([](u64 a, u32 b, u64 c, const Mode& m) { return quad_sad<msad_u8>(a, b, c, m); })},
    {Op::v_mqsad_u32_u8, by_hand(mqsad_u32)},
    {Op::v_lerp_u8, vop([](u32 a, u32 b, u32 c) { return average_u8(a, b, c); })},
    {Op::v_cubeid_f32,
     vop<rare>([](float x, float y, float z, const Mode& m) { return Cube(x, y, z, m).face(); })},
    {Op::v_cubesc_f32, vop<rare>([](float x, float y, float z, const Mode& m) {
       return flushed_result(Cube(x, y, z, m).s(), m);
     })},
    {Op::v_cubetc_f32, vop<rare>([](float x, float y, float z, const Mode& m) {
       return flushed_result(Cube(x, y, z, m).t(), m);
     })},
    {Op::v_cubema_f32, vop<rare>([](float x, float y, float z, const Mode& m) {
       return 2.0f * Cube(x, y, z, m).major();
     })},
};

}  // namespace

std::span<const VectorRow> media_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
