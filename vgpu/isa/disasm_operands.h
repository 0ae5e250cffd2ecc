// Pieces of disassembly shared by disasm*.cpp.
#pragma once

#include <string>

#include "isa/tables.h"

namespace vgpu::isa {

// The 16-bit immediate of a scalar instruction, of the kind its table row names.
std::string immediate_name(const Inst& inst, Type type);

// The lane pattern of ds_swizzle_b32: "swizzle(SWAP,1)".
std::string swizzle_name(u32 offset);

std::string disassemble_vector(const Inst& inst);  // VOP1, VOP2, VOPC, VOP3, VOP3P
std::string disassemble_memory(const Inst& inst);  // SMEM, DS, FLAT, GLOBAL, SCRATCH, buffers

}  // namespace vgpu::isa
