// Packed arithmetic: two 16-bit operations in one register, or on gfx90a two f32 operations in a
// register pair. For each source op_sel picks the half that the low result uses and op_sel_hi
// that of the high one; neg and neg_hi negate likewise.
#include <algorithm>

#include "isa/exec/vector_half.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// How source `index` enters the low (part 0) or high (part 1) operation. v_pk_fmac_f16 has no
// selectors: each half meets its like.
SourceModifiers part_modifiers(const Inst& inst, unsigned index, unsigned part) {
  if (inst.op->format != Format::vop3p) {
    return {.high = part == 1};
  }
  const u8 select = part == 0 ? inst.opsel : inst.opsel_hi;
  const u8 negate = part == 0 ? inst.neg : inst.neg_hi;
  return {.neg = (negate >> index & 1) != 0, .high = (select >> index & 1) != 0};
}

// The 16-bit results of one part, in the low half of each word.
void run_part(Wave& wave, const Inst& inst, const GeneralOp& op, unsigned part, const Mode& mode,
              u32* bits) {
  LaneArray buffers[3];
  Stage stage;
  for (unsigned i = 0; i < op.shape.sources; ++i) {
    const bool accumulator = op.shape.accumulates && i + 1 == op.shape.sources;
    stage.source[i] =
        stage_source(wave, inst, accumulator ? inst.dst : inst.src[i], i, op.shape.source[i],
                     part_modifiers(inst, i, part), mode, buffers[i]);
  }
  op.kernel(stage, mode);
  modify_result(inst, op.shape.result, mode, stage.result);
  short_result_bits(op.shape.result, mode, stage.result, bits);
}

template <auto F, bool Accumulates>
[[gnu::noinline]] void packed_short(Wave& wave, const Inst& inst) {
  static constexpr GeneralOp op = {shape_of<F>(Accumulates, false), kernel<F>};
  const Mode mode = mode_of(wave, (inst.flags & inst_clamp) != 0);
  LaneBuffer low, high;
  run_part(wave, inst, op, 0, mode, low.lane);
  run_part(wave, inst, op, 1, mode, high.lane);
  for (int lane = 0; lane < kLanes; ++lane) {
    low.lane[lane] |= high.lane[lane] << 16;
  }
  store_lanes(vector(wave, inst.dst), low.lane, wave.exec());
}

template <bool Accumulates = false, class F>
consteval VectorEntry packed16(F) {
  if constexpr (Signature<F{}>::follows_wide_mode) {
    return by_hand(in_double_mode<packed_short<F{}, Accumulates>>);
  } else {
    return by_hand(packed_short<F{}, Accumulates>);
  }
}

// ---- packed f32 ----

// The two registers that a source of a packed f32 operation reads. A constant stands in the low
// one; its high one is zero, which is why compilers select the low half twice.
struct PairSource {
  const u32* part[2];
};

[[gnu::noinline]] PairSource pair_source(Wave& wave, const Inst& inst, unsigned index,
                                         LaneBuffer* buffers) {
  const u16 code = inst.src[index];
  const bool registers = is_vector(code) || code < op_const0;
  PairSource result;
  for (unsigned part = 0; part < 2; ++part) {
    const u8 select = part == 0 ? inst.opsel : inst.opsel_hi;
    const bool high = (select >> index & 1) != 0;
    if (registers) {
      result.part[part] =
          lanes32(wave, inst, static_cast<u16>(code + high), buffers[2 * index + part]);
    } else {
      result.part[part] =
          broadcast(buffers[2 * index + part], high ? 0 : scalar32(wave, inst, code));
    }
  }
  return result;
}

float with_sign(u32 bits, u32 flip) { return std::bit_cast<float>(bits ^ flip); }

// Both halves of a lane are read before either is written, so registers may overlap.
template <auto F, bool Modified, bool Masked, std::size_t... I>
[[gnu::always_inline]] inline void run_pairs(Wave& wave, const Inst& inst,
                                             const PairSource (&source)[3],
                                             std::index_sequence<I...>) {
  u32* low = vector(wave, inst.dst);
  u32* high = vector(wave, static_cast<u16>(inst.dst + 1));
  const u32* mask = Masked ? exec_mask(wave) : nullptr;
  const Mode mode = mode_of(wave, false);
  const bool clamp = Modified && (inst.flags & inst_clamp) != 0;
  const auto flip = [&](u8 bits, unsigned i) {
    return Modified && (bits >> i & 1) != 0 ? 0x80000000u : 0u;
  };
  const u32 flip_low[] = {flip(inst.neg, I)...}, flip_high[] = {flip(inst.neg_hi, I)...};
#pragma GCC ivdep
  for (int lane = 0; lane < kLanes; ++lane) {
    const float first = F(with_sign(source[I].part[0][lane], flip_low[I])...);
    const float second = F(with_sign(source[I].part[1][lane], flip_high[I])...);
    const u32 first_bits = bits_of(clamp ? clamped(first, mode.dx10_clamp) : first);
    const u32 second_bits = bits_of(clamp ? clamped(second, mode.dx10_clamp) : second);
    const u32 active = Masked ? mask[lane] : ~u32{0};
    low[lane] = (first_bits & active) | (low[lane] & ~active);
    high[lane] = (second_bits & active) | (high[lane] & ~active);
  }
}

template <auto F, bool Modified>
void packed_single(Wave& wave, const Inst& inst) {
  constexpr auto indices = std::make_index_sequence<Signature<F>::sources>{};
  const u64 exec = wave.exec();
  if (exec == 0) {
    return;
  }
  LaneBuffer buffers[6];
  PairSource source[3];
  for (unsigned i = 0; i < Signature<F>::sources; ++i) {
    source[i] = pair_source(wave, inst, i, buffers);
  }
  if (exec == ~u64{0}) [[likely]] {
    run_pairs<F, Modified, false>(wave, inst, source, indices);
  } else {
    run_pairs<F, Modified, true>(wave, inst, source, indices);
  }
}

// Picks the variant without neg and clamp when it runs: op_sel costs nothing there.
template <auto F>
void packed_f32_handler(Wave& wave, const Inst& inst) {
  const bool modified = inst.neg != 0 || inst.neg_hi != 0 || (inst.flags & inst_clamp) != 0;
  modified ? packed_single<F, true>(wave, inst) : packed_single<F, false>(wave, inst);
}

template <class F>
consteval VectorEntry packed_f32(F) {
  return by_hand(packed_f32_handler<F{}>);
}

// V_PK_MOV_B32: op_sel picks the half of source 0 for the low result and of source 1 for the high.
void packed_move(Wave& wave, const Inst& inst) {
  LaneBuffer buffers[6], low, high;
  const bool high0 = (inst.opsel & 1) != 0, high1 = (inst.opsel & 2) != 0;
  const auto select = [&](unsigned index, bool high_half) {
    const u16 code = inst.src[index];
    const bool registers = is_vector(code) || code < op_const0;
    return lanes32(wave, inst, static_cast<u16>(registers ? code + high_half : code),
                   buffers[index]);
  };
  std::copy_n(select(0, high0), kLanes, low.lane);
  std::copy_n(select(1, high1), kLanes, high.lane);
  store_lanes(vector(wave, inst.dst), low.lane, wave.exec());
  store_lanes(vector(wave, static_cast<u16>(inst.dst + 1)), high.lane, wave.exec());
}

u16 fit_unsigned(i64 value, const Mode& m) {
  return static_cast<u16>(m.clamp ? std::clamp<i64>(value, 0, 65535) : value);
}
i16 fit_signed(i64 value, const Mode& m) {
  return static_cast<i16>(m.clamp ? std::clamp<i64>(value, -32768, 32767) : value);
}

constexpr VectorRow kRows[] = {
    {Op::v_pk_add_f16, packed16([](half a, half b) { return half(a + b); })},
    {Op::v_pk_mul_f16, packed16([](half a, half b) { return half(a * b); })},
    {Op::v_pk_fma_f16, packed16([](half a, half b, half c) { return fma_f16(a, b, c); })},
    {Op::v_pk_fmac_f16, packed16<true>([](half a, half b, half c) { return fma_f16(a, b, c); })},
    {Op::v_pk_min_f16,
     packed16([](Raw<half> a, Raw<half> b, const Mode& m) { return minimum_f16(a, b, m); })},
    {Op::v_pk_max_f16,
     packed16([](Raw<half> a, Raw<half> b, const Mode& m) { return maximum_f16(a, b, m); })},
    {Op::v_pk_mad_u16,
     packed16([](u16 a, u16 b, u16 c, const Mode& m) { return fit_unsigned(i64{a} * b + c, m); })},
    {Op::v_pk_mad_i16,
     packed16([](i16 a, i16 b, i16 c, const Mode& m) { return fit_signed(i64{a} * b + c, m); })},
    {Op::v_pk_mul_lo_u16, packed16([](u16 a, u16 b) { return static_cast<u16>(u32{a} * b); })},
    {Op::v_pk_add_u16,
     packed16([](u16 a, u16 b, const Mode& m) { return fit_unsigned(a + b, m); })},
    {Op::v_pk_sub_u16,
     packed16([](u16 a, u16 b, const Mode& m) { return fit_unsigned(a - b, m); })},
    {Op::v_pk_add_i16, packed16([](i16 a, i16 b, const Mode& m) { return fit_signed(a + b, m); })},
    {Op::v_pk_sub_i16, packed16([](i16 a, i16 b, const Mode& m) { return fit_signed(a - b, m); })},
    {Op::v_pk_lshlrev_b16, packed16([](u16 a, u16 b) { return static_cast<u16>(b << (a & 15)); })},
    {Op::v_pk_lshrrev_b16, packed16([](u16 a, u16 b) { return static_cast<u16>(b >> (a & 15)); })},
    {Op::v_pk_ashrrev_i16, packed16([](u16 a, i16 b) { return static_cast<i16>(b >> (a & 15)); })},
    {Op::v_pk_min_u16, packed16([](u16 a, u16 b) { return std::min(a, b); })},
    {Op::v_pk_max_u16, packed16([](u16 a, u16 b) { return std::max(a, b); })},
    {Op::v_pk_min_i16, packed16([](i16 a, i16 b) { return std::min(a, b); })},
    {Op::v_pk_max_i16, packed16([](i16 a, i16 b) { return std::max(a, b); })},

    {Op::v_pk_fma_f32,
     packed_f32([](float a, float b, float c) { return __builtin_fmaf(a, b, c); })},
    {Op::v_pk_mul_f32, packed_f32([](float a, float b) { return a * b; })},
    {Op::v_pk_add_f32, packed_f32([](float a, float b) { return a + b; })},
    {Op::v_pk_mov_b32, by_hand(packed_move)},
};

}  // namespace

std::span<const VectorRow> packed_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
