// Random instructions of a given opcode: fields that are usually zero are usually zero, operands
// come from all over their range with a liking for its edges.
#pragma once

#include <random>

#include "isa/llvm_mc_support.h"
#include "isa/tables.h"

namespace vgpu::isa::test {

class RandomEncoding {
 public:
  explicit RandomEncoding(u64 seed) : random_(seed) {}

  Encoding make(Format format, u32 opcode);
  // The same with all operands zero: some instructions have none, and reserve their fields.
  Encoding make_without_operands(Format format, u32 opcode);

 private:
  u32 bits(int count) {
    const u64 value = random_();
    return no_operands_ && count > 1 ? 0 : static_cast<u32>(value & ((u64{1} << count) - 1));
  }
  bool chance(int percent) { return random_() % 100 < static_cast<u64>(percent); }
  u32 maybe(int percent, int count) { return chance(percent) ? bits(count) : 0; }

  // Mostly even: gfx90a assemblers want wide operands aligned.
  u32 vgpr() { return chance(70) ? bits(7) << 1 : bits(8); }
  u32 scalar_source();
  u32 scalar_register();
  u32 vector_source();
  u32 literal();
  u32 sdwa(bool compare);
  u32 dpp();
  // The first source of VOP1, VOP2 and VOPC; fills in the dword it calls for.
  u32 first_source(Encoding& encoding, bool compare);

  Encoding make_vop3(u32 opcode);
  Encoding make_vop3p(u32 opcode);
  Encoding make_mfma(u32 opcode);
  Encoding make_ds(u32 opcode);
  Encoding make_flat(u32 segment, u32 opcode);
  Encoding make_smem(u32 opcode);
  Encoding make_buffer(Format format, u32 opcode);

  std::mt19937_64 random_;
  bool no_operands_ = false;  // fields of more than a bit stay zero
};

// How many values the op field of an encoding has, before it runs into another encoding.
u32 opcode_count(Format format);

}  // namespace vgpu::isa::test
