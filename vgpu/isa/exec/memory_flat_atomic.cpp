// Atomics of FLAT and GLOBAL.
#include "isa/exec/memory.h"
#include "isa/exec/memory_flat.h"
#include "isa/exec/memory_opcodes.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class Operation>
struct GlobalAtomic {
  static void run(Wave& wave, const Inst& inst) {
    atomic_lanes<Operation>(wave, inst, global_addresses(wave, inst), wave.exec());
  }
};

template <class Operation>
struct FlatAtomic {
  static void run(Wave& wave, const Inst& inst) {
    const FlatLanes lanes(wave, inst);
    atomic_lanes<Operation>(wave, inst, lanes.at, lanes.global);
    if (lanes.scratch && wave.stop == Stop::none) {
      atomic_scratch<Operation>(wave, inst, flat_scratch(wave), lanes.offset.lane, lanes.scratch);
    }
    if (lanes.shared && wave.stop == Stop::none) {
      const AtomicOperands<Operation> operands(wave, inst);
      atomic_lds<Operation>(wave, operands, lanes.offset.lane, 0, lanes.shared);
    }
  }
};

// Around an atomic on floating-point values.
template <template <class> class Action>
struct InCacheMode {
  template <class Operation>
  struct Of {
    static void run(Wave& wave, const Inst& inst) {
      const CacheFloatMode mode(kCacheDenormals<Operation>);
      Action<Operation>::run(wave, inst);
    }
  };
};

template <template <class> class Action>
Handler select_atomic(u32 opcode) {
  if (Handler found = atomic_of<Action>(opcode)) {
    return found;
  }
  return float_atomic_of<InCacheMode<Action>::template Of>(opcode);
}

}  // namespace

Handler select_flat_atomic(const Inst& inst) {
  const u32 opcode = inst.op->opcode;
  switch (inst.op->format) {
    case Format::flat: return select_atomic<FlatAtomic>(opcode);
    case Format::global: return select_atomic<GlobalAtomic>(opcode);
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
