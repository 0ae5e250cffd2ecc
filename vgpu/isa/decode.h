// From instruction words to Inst.
#pragma once

#include "isa/tables.h"

namespace vgpu::isa {

// The longest gfx9 instruction.
constexpr int kMaxInstWords = 2;

// Decodes the instruction at words[0]; `available` words may be read. False if it is not an
// instruction of this architecture, is cut off, or has reserved bits set that LLVM rejects too.
// Does not set Inst::exec. tables.h says where the fields go.
bool decode(Arch arch, const u32* words, int available, Inst& inst);

// For messages about a word that does not decode: "image", "export", "interpolation", of which
// compute kernels have no use, or "unknown".
const char* encoding_kind(u32 word);

}  // namespace vgpu::isa
