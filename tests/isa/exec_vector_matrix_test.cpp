// MFMA against a triple loop. Where elements live is written down here once more, from the
// formulas of AMD's matrix instruction calculator for CDNA2.
#include <string>

#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {
namespace {

struct Place {
  int reg, lane, shift;
};

struct Shape {
  Op op;
  int m, n, k, blocks;
  int bits;      // of an element of A and B
  int per_lane;  // elements of A and B in a lane

  // B is laid out like A with j for i.
  Place input(int i, int at_k, int block, int size) const {
    const int element = at_k % per_lane, group = at_k / per_lane;
    return {element * bits / 32, size * block + size * blocks * group + i, element * bits % 32};
  }
  Place output(int i, int j, int block) const {
    if (bits == 64 && m == 4)
      return {0, 16 * i + 4 * block + j, 0};
    if (bits == 64)
      return {2 * (i / 4), 16 * (i % 4) + j, 0};
    if (m == 4)
      return {i, 4 * block + j, 0};
    if (m == 16)
      return {4 * block + i % 4, 16 * (i / 4) + j, 0};
    return {16 * block + 4 * (i / 8) + i % 4, 32 * (i / 4) % 64 + j, 0};
  }
};

const Shape kShapes[] = {
    {Op::v_mfma_f32_32x32x1f32, 32, 32, 1, 2, 32, 1},
    {Op::v_mfma_f32_16x16x1f32, 16, 16, 1, 4, 32, 1},
    {Op::v_mfma_f32_4x4x1f32, 4, 4, 1, 16, 32, 1},
    {Op::v_mfma_f32_32x32x2f32, 32, 32, 2, 1, 32, 1},
    {Op::v_mfma_f32_16x16x4f32, 16, 16, 4, 1, 32, 1},
    {Op::v_mfma_f32_32x32x4f16, 32, 32, 4, 2, 16, 4},
    {Op::v_mfma_f32_16x16x4f16, 16, 16, 4, 4, 16, 4},
    {Op::v_mfma_f32_4x4x4f16, 4, 4, 4, 16, 16, 4},
    {Op::v_mfma_f32_32x32x8f16, 32, 32, 8, 1, 16, 4},
    {Op::v_mfma_f32_16x16x16f16, 16, 16, 16, 1, 16, 4},
    {Op::v_mfma_f32_32x32x2bf16, 32, 32, 2, 2, 16, 2},
    {Op::v_mfma_f32_16x16x2bf16, 16, 16, 2, 4, 16, 2},
    {Op::v_mfma_f32_4x4x2bf16, 4, 4, 2, 16, 16, 2},
    {Op::v_mfma_f32_32x32x4bf16, 32, 32, 4, 1, 16, 2},
    {Op::v_mfma_f32_16x16x8bf16, 16, 16, 8, 1, 16, 2},
    {Op::v_mfma_f32_32x32x4bf16_1k, 32, 32, 4, 2, 16, 4},
    {Op::v_mfma_f32_16x16x4bf16_1k, 16, 16, 4, 4, 16, 4},
    {Op::v_mfma_f32_4x4x4bf16_1k, 4, 4, 4, 16, 16, 4},
    {Op::v_mfma_f32_32x32x8bf16_1k, 32, 32, 8, 1, 16, 4},
    {Op::v_mfma_f32_16x16x16bf16_1k, 16, 16, 16, 1, 16, 4},
    {Op::v_mfma_i32_32x32x4i8, 32, 32, 4, 2, 8, 4},
    {Op::v_mfma_i32_16x16x4i8, 16, 16, 4, 4, 8, 4},
    {Op::v_mfma_i32_4x4x4i8, 4, 4, 4, 16, 8, 4},
    {Op::v_mfma_i32_32x32x8i8, 32, 32, 8, 1, 8, 4},
    {Op::v_mfma_i32_16x16x16i8, 16, 16, 16, 1, 8, 4},
    {Op::v_mfma_f64_16x16x4f64, 16, 16, 4, 1, 64, 1},
    {Op::v_mfma_f64_4x4x4f64, 4, 4, 4, 4, 64, 1},
};

int b_lane(u32 blgp, int lane) {
  static constexpr int kFirst[] = {0, 0, 32, 0, 0, 16, 32, 48};
  if (blgp == 0)
    return lane;
  if (blgp == 3)
    return (lane + 16) % 64;
  return kFirst[blgp] + lane % (blgp < 3 ? 32 : 16);
}

class MatrixTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine = engine_named(GetParam());
    if (!engine) {
      GTEST_SKIP() << "this CPU cannot run engine " << GetParam();
    }
  }

  Inst instruction(const Shape& shape, u16 a, u16 b, u16 c, u16 d) {
    Inst inst;
    for (const OpInfo& row : all_ops()) {
      if (row.op == shape.op)
        inst.op = &row;
    }
    inst.src[0] = a, inst.src[1] = b, inst.src[2] = c, inst.dst = d;
    return inst;
  }

  // Small numbers: all sums are exact, so that the order of additions does not matter.
  void fill_small(const OpInfo& op) {
    const std::string name = op.name;
    const auto element = [&]() -> u32 {
      const int value = static_cast<int>(random.below(17)) - 8;
      const float as_single = static_cast<float>(value);
      if (name.find("bf16") != std::string::npos)
        return bits_of(as_single) >> 16;
      if (name.find("f16") != std::string::npos)
        return round_to_half(as_single, 0, true);
      return static_cast<u32>(value);
    };
    const bool doubles = name.find("f64") != std::string::npos;
    const bool singles = name.find("f32_") == std::string::npos ? false : name.ends_with("f32");
    for (int reg = 0; reg < kTestVgprs; ++reg) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const float small = static_cast<float>(static_cast<int>(random.below(17)) - 8);
        u32 word;
        if (doubles) {
          word = reg % 2 ? static_cast<u32>(bits_of(double{small}) >> 32) : 0;
        } else if (singles) {
          word = bits_of(small);
        } else if (name.ends_with("i8")) {
          word = static_cast<u32>(random.bits());
        } else {
          word = element() | element() << 16;
        }
        registers->v[reg * kLanes + lane] = registers->acc[reg * kLanes + lane] = word;
      }
    }
  }
  // The accumulator, which is f32 where A and B are shorter.
  void fill_sums(u16 first) {
    for (int reg = 0; reg < 32; ++reg) {
      for (int lane = 0; lane < kLanes; ++lane) {
        registers->lane(static_cast<u16>(first + reg), lane) =
            bits_of(static_cast<float>(static_cast<int>(random.below(17)) - 8));
      }
    }
  }

  u64 bits_at(u16 first, Place place, int bits) {
    const u16 code = static_cast<u16>(first + place.reg);
    const u64 word = registers->lane(code, place.lane);
    if (bits == 64)
      return word | u64{registers->lane(static_cast<u16>(code + 1), place.lane)} << 32;
    return word >> place.shift & ((u64{1} << bits) - 1);
  }
  static double number(const OpInfo& op, u64 bits, int width) {
    const std::string name = op.name;
    if (width == 64)
      return as_double(bits);
    if (width == 32)
      return as_float(bits);
    if (width == 8)
      return static_cast<i8>(bits);
    return name.find("bf16") != std::string::npos ? as_float(bits << 16)
                                                  : half_value(static_cast<u16>(bits));
  }

  // D as the triple loop gives it, compared with the registers after the instruction.
  void check(const Shape& shape, const Inst& inst, Registers& after) {
    const OpInfo& op = *inst.op;
    const u32 cbsz = inst.ext & 7, abid = inst.ext >> 4 & 15, blgp = inst.ext >> 8 & 7;
    for (int block = 0; block < shape.blocks; ++block) {
      const int a_block = cbsz ? (block >> cbsz << cbsz) + static_cast<int>(abid) : block;
      for (int i = 0; i < shape.m; ++i) {
        for (int j = 0; j < shape.n; ++j) {
          const Place d = shape.output(i, j, block);
          const int sum_bits = shape.bits == 64 ? 64 : 32;
          double sum = 0;
          if (inst.src[2] >= op_vgpr0) {
            const u64 bits = bits_at(inst.src[2], d, sum_bits);
            sum = shape.bits == 8 ? static_cast<i32>(bits) : number(op, bits, sum_bits);
          } else {
            sum = inst.src[2] == op_const0 ? 0 : 1;
          }
          for (int k = 0; k < shape.k; ++k) {
            Place b = shape.input(j, k, block, shape.n);
            b.lane = b_lane(blgp, b.lane);
            sum += number(op, bits_at(inst.src[0], shape.input(i, k, a_block, shape.m), shape.bits),
                          shape.bits) *
                   number(op, bits_at(inst.src[1], b, shape.bits), shape.bits);
          }
          const u16 code = static_cast<u16>(inst.dst + d.reg);
          u64 actual = after.lane(code, d.lane);
          u64 expected = bits_of(static_cast<float>(sum));
          if (shape.bits == 8)
            expected = static_cast<u32>(static_cast<i64>(sum));
          if (shape.bits == 64) {
            expected = bits_of(sum);
            actual |= u64{after.lane(static_cast<u16>(code + 1), d.lane)} << 32;
          }
          const bool zero = shape.bits != 8 && sum == 0;  // the sign of a sum of zeros
          ASSERT_TRUE(expected == actual || (zero && (actual & 0x7fffffff) == 0))
              << op.name << " block " << block << " D[" << i << "][" << j << "] " << std::hex
              << expected << " got " << actual;
        }
      }
    }
  }

  void run_and_check(const Shape& shape, const Inst& inst, u32 mode) {
    registers->set_pair(op_exec, random.exec_mask());  // which MFMA ignores
    const auto after =
        std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
    check(shape, inst, *after);
  }

  const Engine* engine = nullptr;
  Random random{23};
  std::unique_ptr<Registers> registers = std::make_unique<Registers>();
};

constexpr u16 v(int n) { return static_cast<u16>(op_vgpr0 + n); }
constexpr u16 a(int n) { return static_cast<u16>(op_acc0 + n); }

TEST_P(MatrixTest, EveryShapeMultipliesAndAccumulates) {
  for (const Shape& shape : kShapes) {
    const Inst inst = instruction(shape, v(2), v(6), a(0), a(0));
    fill_small(*inst.op);
    if (shape.bits != 64)
      fill_sums(a(0));
    run_and_check(shape, inst, 0x3f0);
  }
}

TEST_P(MatrixTest, OperandsMayLieInEitherFile) {
  for (const Shape& shape : kShapes) {
    const Inst inst = instruction(shape, a(50), v(6), v(24), v(24));
    fill_small(*inst.op);
    if (shape.bits != 64)
      fill_sums(v(24));
    run_and_check(shape, inst, 0x3f0);
  }
}

TEST_P(MatrixTest, AccumulatorMayBeAConstant) {
  for (const Shape& shape : kShapes) {
    const u16 one = shape.bits == 8 ? u16{op_const0 + 1} : u16{op_float0 + 2};
    for (u16 c : {u16{op_const0}, one}) {
      const Inst inst = instruction(shape, v(2), v(6), c, a(0));
      fill_small(*inst.op);
      run_and_check(shape, inst, 0x3f0);
    }
  }
}

TEST_P(MatrixTest, ModifiersBroadcastBlocksOfAAndLanesOfB) {
  for (const Shape& shape : kShapes) {
    for (u32 blgp = 0; blgp < (shape.bits == 64 ? 1u : 8u); ++blgp) {
      for (u32 cbsz = 0; 1 << cbsz <= shape.blocks && (shape.bits != 64 || cbsz == 0); ++cbsz) {
        Inst inst = instruction(shape, v(2), v(6), a(0), a(0));
        fill_small(*inst.op);
        if (shape.bits != 64)
          fill_sums(a(0));
        const u32 abid = cbsz ? random.below(1u << cbsz) : 0;
        inst.ext = cbsz | abid << 4 | blgp << 8;
        run_and_check(shape, inst, 0x3f0);
      }
    }
  }
}

TEST_P(MatrixTest, RoundingAndDenormalModesDoNotMatter) {
  const Shape& shape = kShapes[4];  // 16x16x4 f32
  const Inst inst = instruction(shape, v(2), v(6), a(0), a(0));
  for (u32& word : registers->v) word = static_cast<u32>(random.operand(Type::f32));
  for (u32& word : registers->acc) word = static_cast<u32>(random.operand(Type::f32));
  const auto nearest =
      std::make_unique<Registers>(run_instruction(*engine, inst, *registers, 0x3f0));
  for (u32 mode : {0x300u, 0x301u, 0x3f2u, 0x30fu}) {
    const auto other =
        std::make_unique<Registers>(run_instruction(*engine, inst, *registers, mode));
    EXPECT_EQ(nearest->acc, other->acc);
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, MatrixTest, testing::Values("v3", "v4"));

}  // namespace
}  // namespace vgpu::isa::test
