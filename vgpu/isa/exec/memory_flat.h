// The addresses of FLAT, GLOBAL and SCRATCH instructions.
#pragma once

#include "isa/exec/memory_lds.h"
#include "isa/exec/memory_scratch.h"

namespace vgpu::isa::VGPU_ENGINE {

// VADDR as 64-bit addresses, or as 32-bit offsets from SADDR, plus the instruction's offset.
inline LaneAddresses global_addresses(Wave& wave, const Inst& inst) {
  const u64 offset = static_cast<u64>(static_cast<i64>(inst.imm));
  const u32* low = vector(wave, inst.src[0]);
  if (inst.soffset != op_none) {
    return {scalar64(wave, inst, inst.soffset) + offset, low};
  }
  const u32* high = vector(wave, static_cast<u16>(inst.src[0] + 1));
  return LaneAddresses::of_pairs(offset, low, high, wave.exec());
}

inline void add_constant(const u32* lanes, u32 constant, LaneBuffer& sum) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    sum.lane[lane] = lanes[lane] + constant;
  }
}

// Scratch instructions address by a VGPR or by an SGPR.
inline void scratch_offsets(Wave& wave, const Inst& inst, LaneBuffer& offset) {
  if (inst.src[0] == op_none) {
    broadcast(offset, scalar32(wave, inst, inst.soffset) + static_cast<u32>(inst.imm));
    return;
  }
  add_constant(vector(wave, inst.src[0]), static_cast<u32>(inst.imm), offset);
}

// Which memory each active lane of a FLAT instruction means: the upper 16 bits of an address select
// the apertures of LDS and private memory; the lower 32 bits are the offset there.
struct FlatLanes {
  LaneAddresses at;
  u64 global = 0, shared = 0, scratch = 0;
  LaneBuffer offset;  // valid if shared or scratch is not empty

  FlatLanes(Wave& wave, const Inst& inst) : at(global_addresses(wave, inst)) {
    const u64 exec = wave.exec();
    // Mostly all lanes mean the same.
    const u64 first = at.base >> 48, last = (at.base + 0xffffffff) >> 48;
    if (!at.high && first == last) {
      u64& all = first == wave.shared_base_hi    ? shared
                 : first == wave.private_base_hi ? scratch
                                                 : global;
      all = exec;
      if (!global) {
        add_constant(at.low, static_cast<u32>(at.base), offset);
      }
      return;
    }
    for (u32 lane = 0; lane < kLanes; ++lane) {
      const u64 va = at[lane];
      const u64 bit = u64{1} << lane & exec;
      (va >> 48 == wave.shared_base_hi    ? shared
       : va >> 48 == wave.private_base_hi ? scratch
                                          : global) |= bit;
      offset.lane[lane] = static_cast<u32>(va);
    }
  }
};

}  // namespace vgpu::isa::VGPU_ENGINE
