// The addresses of FLAT, GLOBAL and SCRATCH instructions.
#pragma once

#include "isa/exec/memory_lds.h"
#include "isa/exec/memory_scratch.h"

namespace vgpu::isa::VGPU_ENGINE {

// VADDR as 64-bit addresses, or as 32-bit offsets from SADDR, plus the instruction's offset.
inline void global_addresses(Wave& wave, const Inst& inst, u64* va) {
  const u64 offset = static_cast<u64>(static_cast<i64>(inst.imm));
  const u32* low = vector(wave, inst.src[0]);
  if (inst.soffset == op_none) {
    const u32* high = vector(wave, static_cast<u16>(inst.src[0] + 1));
    for (int lane = 0; lane < kLanes; ++lane) {
      va[lane] = (low[lane] | u64{high[lane]} << 32) + offset;
    }
  } else {
    const u64 base = scalar64(wave, inst, inst.soffset) + offset;
    for (int lane = 0; lane < kLanes; ++lane) {
      va[lane] = base + low[lane];
    }
  }
}

// Scratch instructions address by a VGPR or by an SGPR.
inline void scratch_offsets(Wave& wave, const Inst& inst, LaneBuffer& offset) {
  if (inst.src[0] == op_none) {
    broadcast(offset, scalar32(wave, inst, inst.soffset) + static_cast<u32>(inst.imm));
    return;
  }
  const u32* vaddr = vector(wave, inst.src[0]);
  for (int lane = 0; lane < kLanes; ++lane) {
    offset.lane[lane] = vaddr[lane] + static_cast<u32>(inst.imm);
  }
}

// Which memory each active lane of a FLAT instruction means: the upper 16 bits of an address select
// the apertures of LDS and private memory; the lower 32 bits are the offset there.
struct FlatLanes {
  u64 global = 0, shared = 0, scratch = 0;
  LaneBuffer offset;  // valid if shared or scratch is not empty

  FlatLanes(const Wave& wave, const u64* va) {
    u64 all = 0;
    for (int lane = 0; lane < kLanes; ++lane) {
      all |= va[lane];
    }
    if (all >> 48 == 0) {
      global = wave.exec();
      return;
    }
    for_lanes(wave.exec(), [&](int lane) {
      const u64 bit = u64{1} << lane;
      const u64 aperture = va[lane] >> 48;
      (aperture == wave.shared_base_hi    ? shared
       : aperture == wave.private_base_hi ? scratch
                                          : global) |= bit;
      offset.lane[lane] = static_cast<u32>(va[lane]);
    });
  }
};

}  // namespace vgpu::isa::VGPU_ENGINE
