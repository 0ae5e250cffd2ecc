// The PM4 packets the runtime hides in AQL vendor packets. Data only.
// Sources: Linux drivers/gpu/drm/amd/amdgpu/soc15d.h; ROCR-Runtime core/inc/amd_gpu_pm4.h.
#pragma once

#include "libc/types.h"

namespace gp::abi {

constexpr u32 pm4_type(u32 header) { return header >> 30; }
constexpr u32 pm4_opcode(u32 header) { return header >> 8 & 0xff; }
// Dwords of the packet, header included.
constexpr u32 pm4_dwords(u32 header) { return (header >> 16 & 0x3fff) + 2; }

enum Pm4Opcode : u8 {
  pm4_nop = 0x10,
  pm4_indirect_buffer = 0x3f,  // {header, base lo, base hi, size in dwords 19:0 | valid 23}
  pm4_release_mem = 0x49,
  pm4_acquire_mem = 0x58,  // cache invalidation
};
constexpr u32 kPm4IbSizeMask = 0xfffff;

}  // namespace gp::abi
