// The parts of the memory executor; select_memory() asks the one of the instruction's encoding.
#pragma once

#include "isa/inst.h"
#include "isa/tables.h"

namespace vgpu::isa::VGPU_ENGINE {

Handler select_smem(const Inst& inst);           // memory_scalar.cpp
Handler select_ds(const Inst& inst);             // memory_ds.cpp: reads and writes
Handler select_ds_atomic(const Inst& inst);      // memory_ds_atomic.cpp
Handler select_ds_cross_lane(const Inst& inst);  // memory_ds_lanes.cpp: permute, append, GWS
Handler select_flat(const Inst& inst);           // memory_flat.cpp: FLAT, GLOBAL, SCRATCH
Handler select_flat_atomic(const Inst& inst);    // memory_flat_atomic.cpp
Handler select_buffer(const Inst& inst);         // memory_buffer.cpp

}  // namespace vgpu::isa::VGPU_ENGINE
