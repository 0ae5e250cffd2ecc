// Operations that move single lanes or count them, and those that do nothing.
#include <bit>

#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

void no_operation(Wave&, const Inst&) {}

u32 lane_value(Wave& wave, const Inst& inst, u16 code, u32 lane) {
  return is_vector(code) ? vector(wave, code)[lane] : scalar32(wave, inst, code);
}

// The first active lane; lane 0 if none is.
void readfirstlane(Wave& wave, const Inst& inst) {
  const u64 exec = wave.exec();
  const u32 lane = exec != 0 ? static_cast<u32>(std::countr_zero(exec)) : 0;
  set_scalar32(wave, inst.dst, lane_value(wave, inst, inst.src[0], lane));
}

// V_READLANE and V_WRITELANE ignore EXEC.
void readlane(Wave& wave, const Inst& inst) {
  const u32 lane = scalar32(wave, inst, inst.src[1]) % kLanes;
  set_scalar32(wave, inst.dst, lane_value(wave, inst, inst.src[0], lane));
}

void writelane(Wave& wave, const Inst& inst) {
  const u32 lane = scalar32(wave, inst, inst.src[1]) % kLanes;
  vector(wave, inst.dst)[lane] = scalar32(wave, inst, inst.src[0]);
}

void swap(Wave& wave, const Inst& inst) {
  u32* a = vector(wave, inst.dst);
  u32* b = vector(wave, inst.src[0]);
  const u32* mask = exec_mask(wave);
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const u32 old_a = a[lane], old_b = b[lane];
    a[lane] = mask[lane] != 0 ? old_b : old_a;
    b[lane] = mask[lane] != 0 ? old_a : old_b;
  }
}

// The bits of the lanes before each lane, in the low or high half of a wave mask.
template <bool High>
constexpr LaneBuffer lanes_before() {
  LaneBuffer result{};
  for (int lane = 0; lane < kLanes; ++lane) {
    const u64 before = (u64{1} << lane) - 1;
    result.lane[lane] = static_cast<u32>(High ? before >> 32 : before);
  }
  return result;
}

u32 population(u32 v) {
  v = v - (v >> 1 & 0x55555555);
  v = (v & 0x33333333) + (v >> 2 & 0x33333333);
  return ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

// V_MBCNT: how many bits of the source are set for lanes before this one, plus the second source.
template <bool High>
void mbcnt(Wave& wave, const Inst& inst) {
  static constexpr LaneBuffer kBefore = lanes_before<High>();
  LaneBuffer mask_buffer, sum_buffer, result;
  const u32* mask = lanes32(wave, inst, inst.src[0], mask_buffer);
  const u32* sum = lanes32(wave, inst, inst.src[1], sum_buffer);
  for (int lane = 0; lane < kLanes; ++lane) {
    result.lane[lane] = population(mask[lane] & kBefore.lane[lane]) + sum[lane];
  }
  store_lanes(vector(wave, inst.dst), result.lane, wave.exec());
}

constexpr VectorRow kRows[] = {
    {Op::v_nop, by_hand(no_operation)},
    {Op::v_clrexcp, by_hand(no_operation)},  // floating-point exceptions are not recorded
    {Op::v_readfirstlane_b32, by_hand(readfirstlane)},
    {Op::v_readlane_b32, by_hand(readlane)},
    {Op::v_writelane_b32, by_hand(writelane)},
    {Op::v_swap_b32, by_hand(swap)},
    {Op::v_mbcnt_lo_u32_b32, by_hand(mbcnt<false>)},
    {Op::v_mbcnt_hi_u32_b32, by_hand(mbcnt<true>)},
};

}  // namespace

std::span<const VectorRow> lane_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
