// Data-parallel primitives: a VOP1 or VOP2 instruction reads its first source from another lane
// ("CDNA2 ISA", 6.6). Inst::ext holds the DPP dword.
#pragma once

#include "isa/wave.h"

namespace vgpu::isa::VGPU_ENGINE {

// Where each lane reads from, for one value of dpp_ctrl.
struct DppMap {
  u8 from[kLanes];
  u64 in_range;  // lanes whose source exists
  bool defined;  // false for reserved controls
};

const DppMap& dpp_map(u32 ext);

struct DppLanes {
  u64 zero;      // read 0 instead of a lane that does not exist or is not active
  u64 writable;  // lanes the instruction writes
};

// What EXEC, the row and bank masks and bound_ctrl make of an instruction.
DppLanes dpp_lanes(u32 ext, u64 exec);

// out[i] = in[map[i]], or 0. `out` must not overlap `in`.
void dpp_permute(u32 ext, u64 zero, const u32* in, u32* out);

}  // namespace vgpu::isa::VGPU_ENGINE
