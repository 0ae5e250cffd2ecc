// The executor of an instruction, by family. Each function looks at inst.op and the modifiers and
// returns the handler that fits best, or null if the opcode is not implemented.
#pragma once

#include "isa/inst.h"

namespace vgpu::isa::VGPU_ENGINE {

Handler select_scalar(const Inst& inst);  // SOP1, SOP2, SOPK, SOPC, SOPP
Handler select_memory(const Inst& inst);  // SMEM, DS, FLAT, GLOBAL, SCRATCH, MUBUF, MTBUF
Handler select_vector(const Inst& inst);  // VOP1, VOP2, VOPC, VOP3, VOP3P, incl. SDWA and DPP

}  // namespace vgpu::isa::VGPU_ENGINE
