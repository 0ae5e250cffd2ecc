// Vector instructions that look across lanes, and division put together from its steps.
#include <bit>

#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {
namespace {

constexpr u16 vgpr(int n) { return static_cast<u16>(op_vgpr0 + n); }

class LaneTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine = engine_named(GetParam());
    if (!engine) {
      GTEST_SKIP() << "this CPU cannot run engine " << GetParam();
    }
    for (u32& word : registers->v) word = static_cast<u32>(random.bits());
    for (u32& word : registers->s) word = static_cast<u32>(random.bits());
    registers->set_pair(op_exec, ~u64{0});
  }

  static Inst instruction(Op op, Format format, u16 dst, std::initializer_list<u16> sources) {
    Inst inst;
    for (const OpInfo& row : all_ops()) {
      if (row.op == op && row.format == format)
        inst.op = &row;
    }
    EXPECT_NE(inst.op, nullptr);
    inst.dst = dst;
    std::copy(sources.begin(), sources.end(), inst.src);
    return inst;
  }
  void run(const Inst& inst, u32 mode = 0x3f0) {
    *registers = run_instruction(*engine, inst, *registers, mode);
  }
  u32& lane(int reg, int lane) { return registers->lane(vgpr(reg), lane); }

  const Engine* engine = nullptr;
  Random random{11};
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
};

TEST_P(LaneTest, ReadfirstlaneTakesTheFirstActiveLane) {
  for (int i = 0; i < 50; ++i) {
    const u64 exec = random.exec_mask();
    registers->set_pair(op_exec, exec);
    const u32 expected = lane(3, exec ? std::countr_zero(exec) : 0);
    run(instruction(Op::v_readfirstlane_b32, Format::vop1, 5, {vgpr(3)}));
    EXPECT_EQ(registers->s[5], expected);
  }
}

TEST_P(LaneTest, ReadlaneAndWritelaneIgnoreExec) {
  registers->set_pair(op_exec, 0);
  registers->s[7] = 64 + 21;  // only the low six bits count
  const u32 expected = lane(3, 21);
  run(instruction(Op::v_readlane_b32, Format::vop3, 5, {vgpr(3), 7}));
  EXPECT_EQ(registers->s[5], expected);
  run(instruction(Op::v_writelane_b32, Format::vop3, vgpr(4), {5, op_const0 + 63}));
  EXPECT_EQ(lane(4, 63), expected);
}

TEST_P(LaneTest, WritelaneLeavesOtherLanes) {
  const Registers before = *registers;
  run(instruction(Op::v_writelane_b32, Format::vop3, vgpr(4), {5, op_const0 + 9}));
  auto expected = std::make_unique<Registers>(before);
  expected->lane(vgpr(4), 9) = before.s[5];
  EXPECT_EQ(registers->v, expected->v);
}

TEST_P(LaneTest, SwapExchangesActiveLanes) {
  const u64 exec = random.bits();
  registers->set_pair(op_exec, exec);
  auto before = std::make_unique<Registers>(*registers);
  run(instruction(Op::v_swap_b32, Format::vop1, vgpr(4), {vgpr(9)}));
  for (int i = 0; i < kLanes; ++i) {
    const bool active = exec >> i & 1;
    EXPECT_EQ(lane(4, i), before->lane(vgpr(active ? 9 : 4), i));
    EXPECT_EQ(lane(9, i), before->lane(vgpr(active ? 4 : 9), i));
  }
}

TEST_P(LaneTest, MbcntCountsMaskBitsBelowTheLane) {
  const u64 mask = random.bits();
  registers->set_pair(20, mask);
  run(instruction(Op::v_mbcnt_lo_u32_b32, Format::vop3, vgpr(4), {20, op_const0}));
  run(instruction(Op::v_mbcnt_hi_u32_b32, Format::vop3, vgpr(4), {21, vgpr(4)}));
  for (int i = 0; i < kLanes; ++i) {
    const u64 below = (u64{1} << i) - 1;
    EXPECT_EQ(lane(4, i), static_cast<u32>(std::popcount(mask & below)));
  }
}

TEST_P(LaneTest, MqsadAccumulatesFourWindows) {
  Inst inst =
      instruction(Op::v_mqsad_u32_u8, Format::vop3, vgpr(40), {vgpr(8), vgpr(16), vgpr(24)});
  auto before = std::make_unique<Registers>(*registers);
  for (bool clamp : {false, true}) {
    *registers = *before;
    inst.flags = clamp ? inst_clamp : 0;
    run(inst);
    for (int i = 0; i < kLanes; ++i) {
      const u64 bytes = before->lane(vgpr(8), i) | u64{before->lane(vgpr(9), i)} << 32;
      const u32 reference = before->lane(vgpr(16), i);
      for (int window = 0; window < 4; ++window) {
        u64 sum = before->lane(vgpr(24 + window), i);
        for (int byte = 0; byte < 4; ++byte) {
          const int a = static_cast<int>(bytes >> (8 * (window + byte)) & 255);
          const int b = static_cast<int>(reference >> (8 * byte) & 255);
          if (b)
            sum += static_cast<u64>(std::abs(a - b));
        }
        if (clamp)
          sum = std::min<u64>(sum, 0xffffffff);
        EXPECT_EQ(lane(40 + window, i), static_cast<u32>(sum));
      }
    }
  }
}

TEST_P(LaneTest, NopsChangeNothing) {
  const auto before = std::make_unique<Registers>(*registers);
  run(instruction(Op::v_nop, Format::vop1, op_none, {}));
  run(instruction(Op::v_clrexcp, Format::vop1, op_none, {}));
  EXPECT_EQ(registers->v, before->v);
  EXPECT_EQ(registers->s, before->s);
}

// n / d as the compiler divides. v8 = n, v10 = d; the quotient is in v12.
TEST_P(LaneTest, DivisionStepsGiveTheCorrectlyRoundedQuotient) {
  const auto step = [&](Op op, int dst, std::initializer_list<u16> sources, u8 neg = 0) {
    const bool vop1 = op == Op::v_rcp_f32;
    Inst inst = instruction(op, vop1 ? Format::vop1 : Format::vop3, vgpr(dst), sources);
    inst.neg = neg;
    if (op == Op::v_div_scale_f32)
      inst.sdst = dst == 20 ? u16{30} : u16{op_vcc};
    run(inst);
  };
  for (int round = 0; round < 2000; ++round) {
    float n[kLanes], d[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      lane(8, i) = static_cast<u32>(random.operand(Type::f32));
      lane(10, i) = static_cast<u32>(random.operand(Type::f32));
      n[i] = as_float(lane(8, i)), d[i] = as_float(lane(10, i));
    }
    const u16 num = vgpr(8), den = vgpr(10), one = op_float0 + 2;
    step(Op::v_div_scale_f32, 20, {den, den, num});  // scaled denominator
    step(Op::v_div_scale_f32, 21, {num, den, num});  // scaled numerator, VCC
    step(Op::v_rcp_f32, 22, {vgpr(20)});
    step(Op::v_fma_f32, 23, {vgpr(20), vgpr(22), one}, 1);       // e = 1 - d r
    step(Op::v_fma_f32, 22, {vgpr(23), vgpr(22), vgpr(22)});     // r += e r
    step(Op::v_mul_f32, 24, {vgpr(21), vgpr(22)});               // q = n r
    step(Op::v_fma_f32, 23, {vgpr(20), vgpr(24), vgpr(21)}, 1);  // e = n - d q
    step(Op::v_fma_f32, 24, {vgpr(23), vgpr(22), vgpr(24)});     // q += e r
    step(Op::v_fma_f32, 23, {vgpr(20), vgpr(24), vgpr(21)}, 1);  // e = n - d q
    step(Op::v_div_fmas_f32, 24, {vgpr(23), vgpr(22), vgpr(24)});
    step(Op::v_div_fixup_f32, 12, {vgpr(24), den, num});
    for (int i = 0; i < kLanes; ++i) {
      const u32 expected = bits_of(n[i] / d[i]), actual = lane(12, i);
      // A denormal quotient is rounded twice, once before it is scaled down.
      const bool denormal = (expected & 0x7f800000) == 0;
      const i64 off = static_cast<i64>(expected) - static_cast<i64>(actual);
      ASSERT_TRUE(expected == actual || (is_nan32(expected) && is_nan32(actual)) ||
                  (denormal && std::abs(off) <= 1))
          << std::hex << bits_of(n[i]) << " / " << bits_of(d[i]) << ": expected " << expected
          << " got " << actual;
    }
  }
}

TEST_P(LaneTest, DoubleDivisionStepsGiveTheCorrectlyRoundedQuotient) {
  const auto step = [&](Op op, int dst, std::initializer_list<u16> sources, u8 neg = 0) {
    const bool vop1 = op == Op::v_rcp_f64;
    Inst inst = instruction(op, vop1 ? Format::vop1 : Format::vop3, vgpr(dst), sources);
    inst.neg = neg;
    if (op == Op::v_div_scale_f64)
      inst.sdst = dst == 20 ? u16{30} : u16{op_vcc};
    run(inst);
  };
  for (int round = 0; round < 1000; ++round) {
    double n[kLanes], d[kLanes];
    for (int i = 0; i < kLanes; ++i) {
      const u64 a = random.operand(Type::f64), b = random.operand(Type::f64);
      lane(8, i) = static_cast<u32>(a), lane(9, i) = static_cast<u32>(a >> 32);
      lane(10, i) = static_cast<u32>(b), lane(11, i) = static_cast<u32>(b >> 32);
      n[i] = as_double(a), d[i] = as_double(b);
    }
    const u16 num = vgpr(8), den = vgpr(10), one = op_float0 + 2;
    step(Op::v_div_scale_f64, 20, {den, den, num});
    step(Op::v_div_scale_f64, 22, {num, den, num});
    step(Op::v_rcp_f64, 24, {vgpr(20)});
    step(Op::v_fma_f64, 26, {vgpr(20), vgpr(24), one}, 1);
    step(Op::v_fma_f64, 24, {vgpr(24), vgpr(26), vgpr(24)});
    step(Op::v_fma_f64, 26, {vgpr(20), vgpr(24), one}, 1);
    step(Op::v_fma_f64, 24, {vgpr(24), vgpr(26), vgpr(24)});
    step(Op::v_mul_f64, 28, {vgpr(22), vgpr(24)});
    step(Op::v_fma_f64, 26, {vgpr(20), vgpr(28), vgpr(22)}, 1);
    step(Op::v_div_fmas_f64, 28, {vgpr(26), vgpr(24), vgpr(28)});
    step(Op::v_div_fixup_f64, 12, {vgpr(28), den, num});
    for (int i = 0; i < kLanes; ++i) {
      const u64 expected = bits_of(n[i] / d[i]);
      const u64 actual = lane(12, i) | u64{lane(13, i)} << 32;
      const bool denormal = (expected & 0x7ff0000000000000) == 0;
      const i64 off = static_cast<i64>(expected - actual);
      ASSERT_TRUE(expected == actual || (is_nan64(expected) && is_nan64(actual)) ||
                  (denormal && std::abs(off) <= 1))
          << std::hex << bits_of(n[i]) << " / " << bits_of(d[i]) << ": expected " << expected
          << " got " << actual;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, LaneTest, testing::Values("v3", "v4"));

}  // namespace
}  // namespace vgpu::isa::test
