// Runs single vector instructions on random registers and says what must have come out.
//
// Instructions are built field by field, not assembled, so that every combination of modifiers is
// as cheap as any other; that they decode this way is the decoder's test.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "isa/vector_reference_support.h"
#include "isa/wave.h"

namespace vgpu::isa::test {

constexpr int kTestVgprs = 64;  // of each file

// Registers of a wave that can be copied and compared.
struct Registers {
  alignas(64) std::array<u32, kTestVgprs * kLanes> v{}, acc{};
  std::array<u32, 128> s{};

  u32& lane(u16 code, int lane) {
    return code >= op_acc0 ? acc[(code - op_acc0) * kLanes + lane]
                           : v[(code - op_vgpr0) * kLanes + lane];
  }
  u64 exec() const { return s[op_exec] | u64{s[op_exec + 1]} << 32; }
  u64 pair(u16 code) const { return s[code] | u64{s[code + 1]} << 32; }
  void set_pair(u16 code, u64 value) {
    s[code] = static_cast<u32>(value);
    s[code + 1] = static_cast<u32>(value >> 32);
  }
};

class Random {
 public:
  explicit Random(u64 seed) : engine_(seed) {}
  u64 bits() { return engine_(); }
  u32 below(u32 n) { return static_cast<u32>(bits() % n); }
  bool chance(u32 one_in) { return below(one_in) == 0; }
  template <class T>
  T pick(std::initializer_list<T> values) {
    return *(values.begin() + below(static_cast<u32>(values.size())));
  }
  // A value for an operand: ordinary numbers, extremes, NaN, infinities, denormals, zeros.
  u64 operand(Type type);
  u64 exec_mask();
  u32 mode();

 private:
  u32 half_bits();
  u32 float_bits();
  u64 double_bits();
  std::mt19937_64 engine_;
};

// Runs the instruction on a copy of the registers and returns it. Sets MXCSR from MODE as the
// engine does and expects to find it unchanged.
Registers run_instruction(const Engine& engine, Inst inst, const Registers& before, u32 mode);

// Sources that are registers, not lane masks.
int register_sources(const OpInfo& op);
// Whether the destination is also the last source.
bool accumulates(const OpInfo& op);

// The bits of scalar operand `code` as a source of this type.
u64 scalar_operand(const Registers& registers, const Inst& inst, u16 code, Type type);

// Which lane a lane reads under a DPP control, or -1.
int dpp_source(u32 control, int lane);

// An instruction of a row in some encoding it allows, with random operands and modifiers. The
// registers get operands that suit it.
Inst random_instruction(const OpInfo& op, Random& random, Registers& registers);

struct Expectation {
  Registers registers;
  u64 nan_lanes = 0;     // the result is NaN; which one is not defined
  bool flushes = false;  // denormal results are flushed
};

// What a register file must look like after an instruction of VOP1, VOP2, VOPC or VOP3.
std::unique_ptr<Expectation> expected_registers(const Inst& inst, const Registers& before,
                                                u32 mode);

// Compares; NaNs equal each other where the type is a float, and approximate results may be off
// by one in the last place.
testing::AssertionResult same_registers(const Inst& inst, const Expectation& expected,
                                        const Registers& actual);

std::string describe(const Inst& inst, const Registers& before, u32 mode, int lane);

// The rows of the vector ALU that both a test and an executor can be expected for.
bool is_vector_alu(const OpInfo& op);

}  // namespace vgpu::isa::test
