// From Inst to text, in LLVM's syntax.
#pragma once

#include <string>

#include "isa/decode.h"

namespace vgpu::isa {

// The text of a decoded instruction, as llvm-mc prints it.
std::string disassemble(const Inst& inst);

// Decodes and prints; "unknown encoding 0x..." or the like if it is not an instruction. For the
// device log.
std::string disassemble(Arch arch, const u32* words, int available);

// "v[4:5]", "s3", "vcc", "0.5", "0x12345678": one operand. `literal` is used for op_literal.
std::string operand_name(u16 code, Type type, u32 literal);

}  // namespace vgpu::isa
