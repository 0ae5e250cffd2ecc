// Loads and stores of FLAT, GLOBAL and SCRATCH. Their opcodes agree, and with those of MUBUF.
#include "isa/exec/memory_flat.h"

#include "isa/exec/memory.h"
#include "isa/exec/memory_opcodes.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class S>
struct GlobalLoad {
  static void run(Wave& wave, const Inst& inst) {
    load_lanes<S>(wave, inst, {wave, inst.dst}, global_addresses(wave, inst), wave.exec());
  }
};

template <class S>
struct GlobalStore {
  static void run(Wave& wave, const Inst& inst) {
    store_lanes<S>(wave, inst, {wave, inst.src[1]}, global_addresses(wave, inst), wave.exec());
  }
};

// Loads a dword per lane into LDS instead of a register, one after the other from M0 on.
template <class S>
struct GlobalLoadToLds {
  static void run(Wave& wave, const Inst& inst) {
    if constexpr (S::kRegisters == 1) {
      LaneBuffer data = {};
      const LaneAddresses at = global_addresses(wave, inst);
      load_lanes<S>(wave, inst, Registers<1>(data.lane), at, wave.exec());
      if (wave.stop == Stop::none) {
        store_to_lds_by_lane(wave, inst, data);
      }
    }
  }
};

template <class S>
struct ScratchLoad {
  static void run(Wave& wave, const Inst& inst) {
    LaneBuffer offset;
    scratch_offsets(wave, inst, offset);
    load_scratch<S>(wave, inst, {wave, inst.dst}, flat_scratch(wave), offset.lane, wave.exec());
  }
};

template <class S>
struct ScratchStore {
  static void run(Wave& wave, const Inst& inst) {
    LaneBuffer offset;
    scratch_offsets(wave, inst, offset);
    store_scratch<S>(wave, inst, {wave, inst.src[1]}, flat_scratch(wave), offset.lane, wave.exec());
  }
};

template <class S>
struct FlatLoad {
  static void run(Wave& wave, const Inst& inst) {
    const FlatLanes lanes(wave, inst);
    const Registers<S::kRegisters> to(wave, inst.dst);
    load_lanes<S>(wave, inst, to, lanes.at, lanes.global);
    if (lanes.scratch && wave.stop == Stop::none) {
      load_scratch<S>(wave, inst, to, flat_scratch(wave), lanes.offset.lane, lanes.scratch);
    }
    if (lanes.shared && wave.stop == Stop::none) {
      load_lds<S>(wave, to, lanes.offset.lane, 0, lanes.shared);
    }
  }
};

template <class S>
struct FlatStore {
  static void run(Wave& wave, const Inst& inst) {
    const FlatLanes lanes(wave, inst);
    const Registers<S::kRegisters> from(wave, inst.src[1]);
    store_lanes<S>(wave, inst, from, lanes.at, lanes.global);
    if (lanes.scratch && wave.stop == Stop::none) {
      store_scratch<S>(wave, inst, from, flat_scratch(wave), lanes.offset.lane, lanes.scratch);
    }
    if (lanes.shared && wave.stop == Stop::none) {
      store_lds<S>(wave, from, lanes.offset.lane, 0, lanes.shared);
    }
  }
};

}  // namespace

Handler select_flat(const Inst& inst) {
  const u32 opcode = inst.op->opcode;
  const bool store = inst.op->has(trait::store);
  switch (inst.op->format) {
    case Format::flat: return store ? store_of<FlatStore>(opcode) : load_of<FlatLoad>(opcode);
    case Format::scratch:
      return store ? store_of<ScratchStore>(opcode) : load_of<ScratchLoad>(opcode);
    default: break;
  }
  if (inst.flags & inst_lds) {
    return load_of<GlobalLoadToLds>(opcode);
  }
  return store ? store_of<GlobalStore>(opcode) : load_of<GlobalLoad>(opcode);
}

}  // namespace vgpu::isa::VGPU_ENGINE
