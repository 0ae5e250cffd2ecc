// VOP3P: packed arithmetic, mixed precision and dot products, with their selectors.
#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {
namespace {

constexpr u16 vgpr(int n) { return static_cast<u16>(op_vgpr0 + n); }

const OpInfo& row_of(Op op) {
  for (const OpInfo& row : all_ops()) {
    if (row.op == op) {
      return row;
    }
  }
  ADD_FAILURE() << "no such row";
  return all_ops().front();
}

class PackedTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine = engine_named(GetParam());
    if (!engine) {
      GTEST_SKIP() << "this CPU cannot run engine " << GetParam();
    }
  }

  // Random operands, selectors and signs; sources are registers or scalars.
  Inst random_packed(const OpInfo& op) {
    Inst inst;
    inst.op = &op;
    const int sources = source_count(op);
    registers->set_pair(op_exec, random.exec_mask());
    for (u32& word : registers->v) {
      word = static_cast<u32>(random.bits());
    }
    for (int i = 0; i < sources; ++i) {
      inst.src[i] = vgpr(8 * (i + 1));
      for (int lane = 0; lane < kLanes; ++lane) {
        const u64 bits = random.operand(op.src[i]);
        registers->lane(inst.src[i], lane) = static_cast<u32>(bits);
        registers->lane(static_cast<u16>(inst.src[i] + 1), lane) = static_cast<u32>(bits >> 32);
      }
      if (random.chance(5)) {
        inst.src[i] = random.pick<u16>({20, 130, 193, op_float0 + 2, op_float0 + 5});
      }
    }
    registers->set_pair(20, random.operand(op.src[0]));
    inst.dst = random.chance(3) ? inst.src[0] : vgpr(40);
    if (inst.dst < op_vgpr0)
      inst.dst = vgpr(9);
    const u8 present = static_cast<u8>((1 << sources) - 1);
    inst.opsel = static_cast<u8>(random.bits() & present);
    inst.opsel_hi = static_cast<u8>(random.bits() & present);
    if (random.chance(3))
      inst.flags |= inst_clamp;
    if (is_float(op.src[0])) {
      inst.neg = static_cast<u8>(random.bits() & present);
      inst.neg_hi = static_cast<u8>(random.bits() & present);
    }
    return inst;
  }

  // Both dwords of a source of a lane.
  u64 source_bits(const Inst& inst, int i, int lane) {
    const u16 code = inst.src[i];
    if (code < op_vgpr0) {
      const Type type = inst.op->src[i];
      const bool registers_pair = code < 128 && dwords(type) == 2;
      return registers_pair
                 ? registers->pair(code)
                 : scalar_operand(*registers, inst, code, type == Type::f32x2 ? Type::f32 : type);
    }
    return registers->lane(code, lane) | u64{registers->lane(static_cast<u16>(code + 1), lane)}
                                             << 32;
  }

  const Engine* engine = nullptr;
  Random random{7};
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
};

u64 limited(const Inst& inst, const FloatRules& rules, u64 bits, Type type) {
  if (!(inst.flags & inst_clamp)) {
    return bits;
  }
  const bool nan = type == Type::f32 ? is_nan32(static_cast<u32>(bits)) : false;
  const float value = as_float(bits);
  if (nan)
    return rules.dx10_clamp ? 0 : bits;
  return bits_of(value > 0 ? std::min(value, 1.0f) : 0.0f);
}

struct Packed16 {
  Op packed, single;
};

const Packed16 kPacked16[] = {
    {Op::v_pk_add_f16, Op::v_add_f16},         {Op::v_pk_mul_f16, Op::v_mul_f16},
    {Op::v_pk_fma_f16, Op::v_fma_f16},         {Op::v_pk_min_f16, Op::v_min_f16},
    {Op::v_pk_max_f16, Op::v_max_f16},         {Op::v_pk_mad_u16, Op::v_mad_u16},
    {Op::v_pk_mad_i16, Op::v_mad_i16},         {Op::v_pk_mul_lo_u16, Op::v_mul_lo_u16},
    {Op::v_pk_add_u16, Op::v_add_u16},         {Op::v_pk_sub_u16, Op::v_sub_u16},
    {Op::v_pk_add_i16, Op::v_add_i16},         {Op::v_pk_sub_i16, Op::v_sub_i16},
    {Op::v_pk_lshlrev_b16, Op::v_lshlrev_b16}, {Op::v_pk_lshrrev_b16, Op::v_lshrrev_b16},
    {Op::v_pk_ashrrev_i16, Op::v_ashrrev_i16}, {Op::v_pk_min_u16, Op::v_min_u16},
    {Op::v_pk_max_u16, Op::v_max_u16},         {Op::v_pk_min_i16, Op::v_min_i16},
    {Op::v_pk_max_i16, Op::v_max_i16},
};

u16 packed_half(const Inst& inst, const FloatRules& rules, Reference reference,
                const LaneInputs& in, bool is_float) {
  const LaneResult result = reference(in);
  if (!is_float) {
    return static_cast<u16>(result.value);
  }
  long double exact = result.exact;
  if (inst.flags & inst_clamp) {
    const bool nan = std::isnan(exact);
    exact = nan && !rules.dx10_clamp ? exact : exact > 0 ? std::min(exact, 1.0L) : 0.0L;
  }
  return round_to_half(exact, rules.round64, rules.out64);
}

bool same_half(u32 a, u32 b) { return a == b || (is_nan16(a) && is_nan16(b)); }

TEST_P(PackedTest, EachHalfIsTheOperationOnTheSelectedHalves) {
  for (const Packed16& entry : kPacked16) {
    const OpInfo& op = row_of(entry.packed);
    const Reference reference = reference_of(entry.single);
    const bool floats = op.dst == Type::f16x2;
    for (int i = 0; i < 200; ++i) {
      const u32 mode = random.mode();
      const FloatRules rules(mode);
      const Inst inst = random_packed(op);
      const auto after =
          std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
      for (int lane = 0; lane < kLanes; ++lane) {
        u32 expected = registers->lane(inst.dst, lane);
        if (registers->exec() >> lane & 1) {
          u16 halves[2];
          for (int part = 0; part < 2; ++part) {
            LaneInputs in{.op = op, .clamp = (inst.flags & inst_clamp) != 0, .rules = rules};
            for (int s = 0; s < source_count(op); ++s) {
              const bool high = (part ? inst.opsel_hi : inst.opsel) >> s & 1;
              const bool negate = (part ? inst.neg_hi : inst.neg) >> s & 1;
              in.source[s] =
                  (source_bits(inst, s, lane) >> (high ? 16 : 0) & 0xffff) ^ (negate ? 0x8000 : 0);
            }
            halves[part] = packed_half(inst, rules, reference, in, floats);
          }
          expected = halves[0] | u32{halves[1]} << 16;
        }
        const u32 actual = after->lane(inst.dst, lane);
        const bool same = floats ? same_half(expected & 0xffff, actual & 0xffff) &&
                                       same_half(expected >> 16, actual >> 16)
                                 : expected == actual;
        ASSERT_TRUE(same) << std::hex << expected << " got " << actual << " "
                          << describe(inst, *registers, mode, lane);
      }
    }
  }
}

TEST_P(PackedTest, PackedSinglePrecisionWorksOnTheSelectedRegisters) {
  const Packed16 kOps[] = {{Op::v_pk_fma_f32, Op::v_fma_f32},
                           {Op::v_pk_mul_f32, Op::v_mul_f32},
                           {Op::v_pk_add_f32, Op::v_add_f32}};
  for (const Packed16& entry : kOps) {
    const OpInfo& op = row_of(entry.packed);
    const Reference reference = reference_of(entry.single);
    for (int i = 0; i < 300; ++i) {
      // Denormals are kept: whether they are flushed is the single operation's test.
      const u32 mode = (random.mode() & ~0xf0u) | 0xf0;
      const FloatRules rules(mode);
      const Inst inst = random_packed(op);
      const auto after =
          std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
      for (int lane = 0; lane < kLanes; ++lane) {
        for (int part = 0; part < 2; ++part) {
          const u16 dst = static_cast<u16>(inst.dst + part);
          u32 expected = registers->lane(dst, lane);
          if (registers->exec() >> lane & 1) {
            LaneInputs in{.op = op, .rules = rules};
            for (int s = 0; s < source_count(op); ++s) {
              const bool high = (part ? inst.opsel_hi : inst.opsel) >> s & 1;
              const bool negate = (part ? inst.neg_hi : inst.neg) >> s & 1;
              in.source[s] = (source_bits(inst, s, lane) >> (high ? 32 : 0) & 0xffffffff) ^
                             (negate ? 0x80000000 : 0);
            }
            expected = static_cast<u32>(limited(inst, rules, reference(in).value, Type::f32));
          }
          const u32 actual = after->lane(dst, lane);
          ASSERT_TRUE(expected == actual || (is_nan32(expected) && is_nan32(actual)))
              << std::hex << expected << " got " << actual << " part " << part << " "
              << describe(inst, *registers, mode, lane);
        }
      }
    }
  }
}

TEST_P(PackedTest, PackedMovePicksOneRegisterOfEachSource) {
  const OpInfo& op = row_of(Op::v_pk_mov_b32);
  for (int i = 0; i < 100; ++i) {
    const Inst inst = random_packed(op);
    const auto after =
        std::make_unique<Registers>(run_instruction(*engine, inst, *registers, 0x3f0));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int part = 0; part < 2; ++part) {
        const u16 dst = static_cast<u16>(inst.dst + part);
        const bool constant = inst.src[part] >= 128 && inst.src[part] < op_vgpr0;
        const int shift = !constant && (inst.opsel >> part & 1) ? 32 : 0;
        const u32 moved =
            constant ? static_cast<u32>(scalar_operand(*registers, inst, inst.src[part], Type::b32))
                     : static_cast<u32>(source_bits(inst, part, lane) >> shift);
        const u32 expected = registers->exec() >> lane & 1 ? moved : registers->lane(dst, lane);
        ASSERT_EQ(after->lane(dst, lane), expected) << describe(inst, *registers, 0, lane);
      }
    }
  }
}

TEST_P(PackedTest, PackedAccumulateAddsToBothHalves) {
  const OpInfo& op = row_of(Op::v_pk_fmac_f16);
  const Reference reference = reference_of(Op::v_fma_f16);
  for (int i = 0; i < 100; ++i) {
    const u32 mode = random.mode();
    const FloatRules rules(mode);
    Inst inst = random_packed(op);
    inst.src[0] = vgpr(8), inst.src[1] = vgpr(16), inst.dst = vgpr(40);
    inst.opsel = inst.opsel_hi = inst.neg = inst.neg_hi = 0, inst.flags = 0;
    const auto after =
        std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int shift = 0; shift < 32; shift += 16) {
        LaneInputs in{.op = op, .rules = rules};
        in.source[0] = registers->lane(vgpr(8), lane) >> shift & 0xffff;
        in.source[1] = registers->lane(vgpr(16), lane) >> shift & 0xffff;
        in.source[2] = registers->lane(vgpr(40), lane) >> shift & 0xffff;
        const u32 old = static_cast<u32>(in.source[2]);
        const bool active = registers->exec() >> lane & 1;
        const u32 expected = active ? packed_half(inst, rules, reference, in, true) : old;
        ASSERT_TRUE(same_half(after->lane(vgpr(40), lane) >> shift & 0xffff, expected))
            << describe(inst, *registers, mode, lane);
      }
    }
  }
}

// ---- v_fma_mix ----

// A source is a half where op_sel_hi says so, else a float; neg_hi means abs.
float mix_source(const Inst& inst, const FloatRules& rules, u64 bits, int i) {
  const bool is_half = inst.opsel_hi >> i & 1, high = inst.opsel >> i & 1;
  float value;
  if (is_half) {
    const u16 half = static_cast<u16>(bits >> (high ? 16 : 0));
    value = static_cast<float>(half_value(rules.in64 ? half : flush16(half)));
  } else {
    value = as_float(rules.in32 ? static_cast<u32>(bits) : flush32(static_cast<u32>(bits)));
  }
  if (inst.neg_hi >> i & 1)
    value = std::fabs(value);
  return inst.neg >> i & 1 ? -value : value;
}

TEST_P(PackedTest, MixedPrecisionMultipliesInSingleAndRoundsLast) {
  for (Op which : {Op::v_fma_mix_f32, Op::v_fma_mixlo_f16, Op::v_fma_mixhi_f16}) {
    const OpInfo& op = row_of(which);
    for (int i = 0; i < 300; ++i) {
      const u32 mode = random.mode() | 0x20;  // results keep f32 denormals
      const FloatRules rules(mode);
      Inst inst = random_packed(op);
      for (int s = 0; s < 3; ++s) {
        if (inst.src[s] < op_vgpr0)
          inst.src[s] = 20;  // constants are of the source's own width
      }
      const auto after =
          std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
      for (int lane = 0; lane < kLanes; ++lane) {
        const u32 old = registers->lane(inst.dst, lane), actual = after->lane(inst.dst, lane);
        if (!(registers->exec() >> lane & 1)) {
          ASSERT_EQ(actual, old);
          continue;
        }
        float source[3];
        for (int s = 0; s < 3; ++s) {
          source[s] = mix_source(inst, rules, source_bits(inst, s, lane), s);
        }
        float value = rounded(rules.round32, [&] {
          volatile float a = source[0], b = source[1], c = source[2];
          return std::fma(a, b, c);
        });
        value = as_float(limited(inst, rules, bits_of(value), Type::f32));
        const u16 half = round_to_half(value, rules.round64, rules.out64);
        bool same;
        if (which == Op::v_fma_mix_f32) {
          same = bits_of(value) == actual || (std::isnan(value) && is_nan32(actual));
        } else if (which == Op::v_fma_mixlo_f16) {
          same = same_half(half, actual & 0xffff) && actual >> 16 == old >> 16;
        } else {
          same = same_half(half, actual >> 16) && (actual & 0xffff) == (old & 0xffff);
        }
        ASSERT_TRUE(same) << std::hex << bits_of(value) << " got " << actual << " "
                          << describe(inst, *registers, mode, lane);
      }
    }
  }
}

TEST_P(PackedTest, DotProductOfHalvesAddsBothProducts) {
  const OpInfo& op = row_of(Op::v_dot2_f32_f16);
  for (int i = 0; i < 300; ++i) {
    const u32 mode = random.mode() | 0x30;
    const FloatRules rules(mode);
    Inst inst = random_packed(op);
    const auto after =
        std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
    for (int lane = 0; lane < kLanes; ++lane) {
      const u32 actual = after->lane(inst.dst, lane);
      if (!(registers->exec() >> lane & 1)) {
        ASSERT_EQ(actual, registers->lane(inst.dst, lane));
        continue;
      }
      const auto part = [&](int s, int which) {
        const u8 select = which ? inst.opsel_hi : inst.opsel;
        const u8 negate = which ? inst.neg_hi : inst.neg;
        const u16 bits =
            static_cast<u16>(source_bits(inst, s, lane) >> (select >> s & 1 ? 16 : 0)) ^
            (negate >> s & 1 ? 0x8000 : 0);
        return static_cast<float>(half_value(rules.in64 ? bits : flush16(bits)));
      };
      const float a[] = {part(0, 0), part(0, 1)}, b[] = {part(1, 0), part(1, 1)};
      const float c = as_float(source_bits(inst, 2, lane) ^ (inst.neg & 4 ? 0x80000000 : 0));
      const float sum = rounded(rules.round32, [&] {
        volatile float low = std::fma(a[0], b[0], c);
        return std::fma(a[1], b[1], low);
      });
      const u32 expected = static_cast<u32>(limited(inst, rules, bits_of(sum), Type::f32));
      ASSERT_TRUE(expected == actual || (is_nan32(expected) && is_nan32(actual)))
          << std::hex << expected << " got " << actual << " "
          << describe(inst, *registers, mode, lane);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, PackedTest, testing::Values("v3", "v4"));

}  // namespace
}  // namespace vgpu::isa::test
