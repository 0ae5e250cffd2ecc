// Matrix instructions of gfx90a: D = A * B + C on blocks of M x N, with A of M x K and B of K x N.
//
// Where elements live (manual, "Matrix Arithmetic Instructions"; AMD's matrix instruction
// calculator gives the same):
//   A[i][k] of block b   lane i + M * (b + blocks * (k / L)), element k % L of its registers
//   B[k][j] of block b   lane j + N * (b + blocks * (k / L)), element k % L
//   D[i][j] of block b   row i of a block is N lanes of one register: see output_row()
// where L elements of A and B lie in one lane. EXEC is ignored.
//
// Rounding is to nearest even with denormals kept, whatever MODE says. Hardware does not document
// the order of additions within an instruction; here each element is a chain of fused operations
// from k = 0 up, starting from C, so the last bits of floating-point results may differ.
#include <algorithm>

#include "isa/exec/float_mode.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// The one or two registers that hold A or B.
using Registers = const u32* const*;

// An element format: how many lie in a lane's registers, and how one is read.
struct F32 {
  using Value = float;
  using Sum = float;
  static constexpr int per_lane = 1;
  static Value load(Registers registers, int lane, int) {
    return std::bit_cast<float>(registers[0][lane]);
  }
};

struct F16 {
  using Value = float;
  using Sum = float;
  static constexpr int per_lane = 4;
  static Value load(Registers registers, int lane, int element) {
    return half_to_float(registers[element / 2][lane] >> (element % 2 * 16) & 0xffff);
  }
};

template <int PerLane>
struct Bf16 {
  using Value = float;
  using Sum = float;
  static constexpr int per_lane = PerLane;
  static Value load(Registers registers, int lane, int element) {
    const u32 word = registers[element / 2][lane];
    return std::bit_cast<float>(element % 2 == 0 ? word << 16 : word & 0xffff0000);
  }
};

struct I8 {
  using Value = i32;
  using Sum = i32;
  static constexpr int per_lane = 4;
  static Value load(Registers registers, int lane, int element) {
    return static_cast<i8>(registers[0][lane] >> (element * 8));
  }
};

struct F64 {
  using Value = double;
  using Sum = double;
  static constexpr int per_lane = 1;
  static Value load(Registers registers, int lane, int) {
    return std::bit_cast<double>(registers[0][lane] | u64{registers[1][lane]} << 32);
  }
};

float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double multiply_add(double a, double b, double c) { return __builtin_fma(a, b, c); }
i32 multiply_add(i32 a, i32 b, i32 c) {
  return static_cast<i32>(static_cast<u32>(a * b) + static_cast<u32>(c));
}

// ---- modifiers ----

// cbsz broadcasts block abid of each group of 2^cbsz blocks of A to the whole group.
struct MfmaModifiers {
  u32 cbsz, abid, blgp;
  explicit MfmaModifiers(const Inst& inst)
      : cbsz(inst.ext & 7), abid(inst.ext >> 4 & 15), blgp(inst.ext >> 8 & 7) {}
  int a_block(int block) const {
    const int group = 1 << cbsz;
    return cbsz == 0 ? block : (block & ~(group - 1)) + static_cast<int>(abid) % group;
  }
  // blgp permutes the lanes that B is read from.
  int b_lane(int lane) const {
    switch (blgp) {
      case 1: return lane % 32;             // the first 32 lanes, twice
      case 2: return lane % 32 + 32;        // the second 32 lanes, twice
      case 3: return (lane + 16) % kLanes;  // all lanes move down by 16
      case 4:
      case 5:
      case 6:
      case 7: return lane % 16 + 16 * static_cast<int>(blgp - 4);  // one group of 16, four times
      default: return lane;
    }
  }
};

// ---- registers ----

struct OutputRow {
  int item;  // register, or register pair for f64
  int lane;  // of column 0
};

// Row i of block b. Groups of four rows go to consecutive registers (f64: single rows), then to
// further lanes, then to further registers.
template <class Sum, int M, int N, int Blocks>
constexpr OutputRow output_row(int i, int block) {
  constexpr int rows = sizeof(Sum) == 8 ? 1 : 4;
  if constexpr (M == 4 && rows == 1) {
    return {0, 16 * i + N * block};
  } else if constexpr (M == 4) {
    return {i, N * block};
  } else {
    constexpr int groups_in_lanes = kLanes / N;  // groups of rows beside each other
    const int group = i / rows;
    const int item = i % rows + rows * (group / groups_in_lanes) + M / groups_in_lanes * block;
    return {item, N * (group % groups_in_lanes)};
  }
}

template <class Sum>
Sum constant_sum(const Wave& wave, const Inst& inst, u16 code) {
  if constexpr (sizeof(Sum) == 8) {
    return std::bit_cast<Sum>(scalar64(wave, inst, code));
  } else {
    return std::bit_cast<Sum>(scalar32(wave, inst, code));
  }
}

template <class Sum>
void load_row(Wave& wave, const Inst& inst, OutputRow row, int n, Sum* out) {
  const u16 code = inst.src[2];
  if (!is_vector(code)) {
    std::fill_n(out, n, constant_sum<Sum>(wave, inst, code));
  } else if constexpr (sizeof(Sum) == 8) {
    const u32* low = vector(wave, static_cast<u16>(code + 2 * row.item)) + row.lane;
    const u32* high = vector(wave, static_cast<u16>(code + 2 * row.item + 1)) + row.lane;
    for (int j = 0; j < n; ++j) {
      out[j] = std::bit_cast<Sum>(low[j] | u64{high[j]} << 32);
    }
  } else {
    std::memcpy(out, vector(wave, static_cast<u16>(code + row.item)) + row.lane, n * sizeof(Sum));
  }
}

template <class Sum>
void store_row(Wave& wave, const Inst& inst, OutputRow row, int n, const Sum* in) {
  if constexpr (sizeof(Sum) == 8) {
    u32* low = vector(wave, static_cast<u16>(inst.dst + 2 * row.item)) + row.lane;
    u32* high = vector(wave, static_cast<u16>(inst.dst + 2 * row.item + 1)) + row.lane;
    for (int j = 0; j < n; ++j) {
      const u64 bits = std::bit_cast<u64>(in[j]);
      low[j] = static_cast<u32>(bits);
      high[j] = static_cast<u32>(bits >> 32);
    }
  } else {
    std::memcpy(vector(wave, static_cast<u16>(inst.dst + row.item)) + row.lane, in,
                n * sizeof(Sum));
  }
}

// ---- the product ----

template <class Element, int M, int N, int K, int Blocks>
struct Operands {
  alignas(64) typename Element::Value a[Blocks][K][M];
  alignas(64) typename Element::Value b[Blocks][K][N];
  alignas(64) typename Element::Sum sum[Blocks][M][N];
};

template <class Element, int M, int N, int K, int Blocks>
void load_operands(Wave& wave, const Inst& inst, Operands<Element, M, N, K, Blocks>& operands) {
  const MfmaModifiers modifiers(inst);
  const u32* a[] = {vector(wave, inst.src[0]), vector(wave, inst.src[0] + 1)};
  const u32* b[] = {vector(wave, inst.src[1]), vector(wave, inst.src[1] + 1)};
  for (int block = 0; block < Blocks; ++block) {
    for (int k = 0; k < K; ++k) {
      const int group = Blocks * (k / Element::per_lane), element = k % Element::per_lane;
      const int a_first = M * (modifiers.a_block(block) + group);
      const int b_first = N * (block + group);
      for (int i = 0; i < M; ++i) {
        operands.a[block][k][i] = Element::load(a, a_first + i, element);
      }
      for (int j = 0; j < N; ++j) {
        operands.b[block][k][j] = Element::load(b, modifiers.b_lane(b_first + j), element);
      }
    }
    for (int i = 0; i < M; ++i) {
      load_row(wave, inst, output_row<typename Element::Sum, M, N, Blocks>(i, block), N,
               operands.sum[block][i]);
    }
  }
}

// Apart from the loads and stores, so that MXCSR may be changed around it.
template <class Element, int M, int N, int K, int Blocks>
[[gnu::noinline]] void multiply(Operands<Element, M, N, K, Blocks>& operands) {
  for (int block = 0; block < Blocks; ++block) {
    for (int i = 0; i < M; ++i) {
      typename Element::Sum row[N];
      std::copy_n(operands.sum[block][i], N, row);
      for (int k = 0; k < K; ++k) {
        const auto a = operands.a[block][k][i];
        for (int j = 0; j < N; ++j) {
          row[j] = multiply_add(a, operands.b[block][k][j], row[j]);
        }
      }
      std::copy_n(row, N, operands.sum[block][i]);
    }
  }
}

template <class Element, int M, int N, int K, int Blocks>
void mfma(Wave& wave, const Inst& inst) {
  Operands<Element, M, N, K, Blocks> operands;
  load_operands(wave, inst, operands);
  _mm_setcsr(mxcsr_of(0, 3));
  multiply(operands);
  apply_float_mode(wave.mode);
  for (int block = 0; block < Blocks; ++block) {
    for (int i = 0; i < M; ++i) {
      store_row(wave, inst, output_row<typename Element::Sum, M, N, Blocks>(i, block), N,
                operands.sum[block][i]);
    }
  }
}

constexpr VectorRow kRows[] = {
    {Op::v_mfma_f32_32x32x1f32, by_hand(mfma<F32, 32, 32, 1, 2>)},
    {Op::v_mfma_f32_16x16x1f32, by_hand(mfma<F32, 16, 16, 1, 4>)},
    {Op::v_mfma_f32_4x4x1f32, by_hand(mfma<F32, 4, 4, 1, 16>)},
    {Op::v_mfma_f32_32x32x2f32, by_hand(mfma<F32, 32, 32, 2, 1>)},
    {Op::v_mfma_f32_16x16x4f32, by_hand(mfma<F32, 16, 16, 4, 1>)},
    {Op::v_mfma_f32_32x32x4f16, by_hand(mfma<F16, 32, 32, 4, 2>)},
    {Op::v_mfma_f32_16x16x4f16, by_hand(mfma<F16, 16, 16, 4, 4>)},
    {Op::v_mfma_f32_4x4x4f16, by_hand(mfma<F16, 4, 4, 4, 16>)},
    {Op::v_mfma_f32_32x32x8f16, by_hand(mfma<F16, 32, 32, 8, 1>)},
    {Op::v_mfma_f32_16x16x16f16, by_hand(mfma<F16, 16, 16, 16, 1>)},
    {Op::v_mfma_f32_32x32x2bf16, by_hand(mfma<Bf16<2>, 32, 32, 2, 2>)},
    {Op::v_mfma_f32_16x16x2bf16, by_hand(mfma<Bf16<2>, 16, 16, 2, 4>)},
    {Op::v_mfma_f32_4x4x2bf16, by_hand(mfma<Bf16<2>, 4, 4, 2, 16>)},
    {Op::v_mfma_f32_32x32x4bf16, by_hand(mfma<Bf16<2>, 32, 32, 4, 1>)},
    {Op::v_mfma_f32_16x16x8bf16, by_hand(mfma<Bf16<2>, 16, 16, 8, 1>)},
    {Op::v_mfma_f32_32x32x4bf16_1k, by_hand(mfma<Bf16<4>, 32, 32, 4, 2>)},
    {Op::v_mfma_f32_16x16x4bf16_1k, by_hand(mfma<Bf16<4>, 16, 16, 4, 4>)},
    {Op::v_mfma_f32_4x4x4bf16_1k, by_hand(mfma<Bf16<4>, 4, 4, 4, 16>)},
    {Op::v_mfma_f32_32x32x8bf16_1k, by_hand(mfma<Bf16<4>, 32, 32, 8, 1>)},
    {Op::v_mfma_f32_16x16x16bf16_1k, by_hand(mfma<Bf16<4>, 16, 16, 16, 1>)},
    {Op::v_mfma_i32_32x32x4i8, by_hand(mfma<I8, 32, 32, 4, 2>)},
    {Op::v_mfma_i32_16x16x4i8, by_hand(mfma<I8, 16, 16, 4, 4>)},
    {Op::v_mfma_i32_4x4x4i8, by_hand(mfma<I8, 4, 4, 4, 16>)},
    {Op::v_mfma_i32_32x32x8i8, by_hand(mfma<I8, 32, 32, 8, 1>)},
    {Op::v_mfma_i32_16x16x16i8, by_hand(mfma<I8, 16, 16, 16, 1>)},
    {Op::v_mfma_f64_16x16x4f64, by_hand(mfma<F64, 16, 16, 4, 1>)},
    {Op::v_mfma_f64_4x4x4f64, by_hand(mfma<F64, 4, 4, 4, 4>)},
};

}  // namespace

std::span<const VectorRow> matrix_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
