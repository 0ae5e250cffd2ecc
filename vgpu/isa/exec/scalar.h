// The parts of the scalar executor; select_scalar() asks them in turn.
#pragma once

#include "isa/inst.h"
#include "isa/tables.h"

namespace vgpu::isa::VGPU_ENGINE {

Handler select_sop1(Op op);               // scalar_sop1.cpp: one source
Handler select_sop2(Op op);               // scalar_sop2.cpp: two sources
Handler select_compare(Op op);            // scalar_compare.cpp: SOPC and SOPK into SCC
Handler select_flow(Op op);               // scalar_flow.cpp: jumps, messages, stops
Handler select_register_move(Op op);      // scalar_index.cpp: moves and modes indexed by M0
Handler select_hardware_register(Op op);  // scalar_hwreg.cpp: s_getreg, s_setreg

}  // namespace vgpu::isa::VGPU_ENGINE
