// Leaving and redirecting the instruction stream: what executors do besides computing.
#pragma once

#include "isa/code_cache.h"
#include "isa/wave.h"

namespace vgpu::isa::VGPU_ENGINE {

// Stops at an instruction that did not complete: the wave's pc stays on it.
inline void stop_at(Wave& wave, const Inst& inst, Stop why, const char* reason) {
  wave.fault.pc = wave.pc_of(inst);
  wave.fault.reason = reason;
  wave.stop_with(why);
}

inline void stop_illegal(Wave& wave, const Inst& inst, const char* reason) {
  stop_at(wave, inst, Stop::illegal, reason);
}

// Stops because of memory at `va`: not mapped, or mapped without the right to write.
inline void stop_fault(Wave& wave, const Inst& inst, u64 va, bool write) {
  wave.fault.va = va;
  wave.fault.write = write;
  wave.fault.no_permission = wave.memory->translate(va) != nullptr;
  stop_at(wave, inst, Stop::fault,
          wave.fault.no_permission ? "write to read-only memory" : "address is not mapped");
}

// Continues `dwords` after `inst`, within its code page if possible.
inline void branch(Wave& wave, const Inst& inst, i64 dwords) {
  const i64 slot = (&inst - wave.page->slots) + dwords;
  if (slot >= 0 && slot < static_cast<i64>(kPageSize / 4)) {
    wave.ip = wave.page->slots + slot;
  } else {
    wave.jump(wave.pc_of(inst) + static_cast<u64>(dwords) * 4);
  }
}

// Runs one instruction with its vector registers relocated by M0 (MODE.gpr_idx_en), and goes on so
// until that mode ends, the wave stops or `limit` instructions are done. Returns how many.
u64 run_indexed(Wave& wave, u64 limit);

}  // namespace vgpu::isa::VGPU_ENGINE
