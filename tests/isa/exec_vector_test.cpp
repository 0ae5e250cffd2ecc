// Every vector instruction against its reference, in every encoding, on random registers, EXEC
// masks and floating-point modes, on each engine.
#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {
namespace {

// Instructions no compute program has use for, with the reason.
bool not_implemented(Op op) {
  switch (op) {
    case Op::v_screen_partition_4se_b32: return true;  // screen tiles: graphics only
    default: return false;
  }
}

class VectorTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine = engine_named(GetParam());
    if (!engine) {
      GTEST_SKIP() << "this CPU cannot run engine " << GetParam();
    }
  }
  // Runs one row some times; stops at the first difference.
  void check(const OpInfo& op, int times) {
    Random random(std::hash<std::string>{}(op.name) + static_cast<u64>(op.format));
    auto registers = std::make_unique<Registers>();
    for (int i = 0; i < times; ++i) {
      const u32 mode = random.mode();
      const Inst inst = random_instruction(op, random, *registers);
      const auto expected = expected_registers(inst, *registers, mode);
      const auto actual =
          std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
      const auto same = same_registers(inst, *expected, *actual);
      int lane = 0;
      std::sscanf(same.message(), "lane %d", &lane);
      ASSERT_TRUE(same) << describe(inst, *registers, mode, lane);
    }
  }
  void check_all(Format format) {
    for (const OpInfo& op : all_ops()) {
      if (op.format == format && reference_of(op.op)) {
        check(op, 60);
      }
    }
  }
  const Engine* engine = nullptr;
};

TEST_P(VectorTest, EveryOpcodeHasAnExecutor) {
  for (const OpInfo& op : all_ops()) {
    Inst inst;
    inst.op = &op;
    if (is_vector_alu(op)) {
      EXPECT_EQ(engine->handler(inst) == nullptr, not_implemented(op.op)) << op.name;
    }
  }
}

// Opcodes without a reference here are in the tests of lanes, packed and matrix instructions.
TEST_P(VectorTest, EveryOneSourceOpcodeMatchesItsReference) { check_all(Format::vop1); }
TEST_P(VectorTest, EveryTwoSourceOpcodeMatchesItsReference) { check_all(Format::vop2); }
TEST_P(VectorTest, EveryComparisonMatchesItsReference) { check_all(Format::vopc); }
TEST_P(VectorTest, EveryLongOpcodeMatchesItsReference) { check_all(Format::vop3); }
TEST_P(VectorTest, EveryIntegerDotProductMatchesItsReference) { check_all(Format::vop3p); }

INSTANTIATE_TEST_SUITE_P(Engines, VectorTest, testing::Values("v3", "v4"));

}  // namespace
}  // namespace vgpu::isa::test
