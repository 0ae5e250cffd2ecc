// MUBUF: loads, stores, atomics, cache control. Out of range loads give zero and stores are
// dropped, dword by dword. The instructions that convert between data formats are those of
// graphics: they stop the queue as illegal, by name.
#include "isa/exec/memory_buffer.h"

#include "isa/exec/memory.h"
#include "isa/exec/memory_opcodes.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// What lanes out of range read.
template <class S>
void load_zero(u32* reg, u64 mask) {
  for_lanes(mask, [&](u32 lane) { S::to_register(reg[lane], 0); });
}

// The shape of one register: accesses are split into dwords in swizzled buffers, and where some
// lane is out of range.
template <class S>
using DwordOf = std::conditional_t<S::kRegisters == 1, S, Shape<u32>>;

template <class S>
void load_buffer(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& to) {
  const Buffer buffer(wave, inst);
  const u64 exec = wave.exec();
  if (buffer.is_scratch(inst)) {
    LaneBuffer offset;
    scratch_buffer_offsets(wave, inst, offset);
    load_scratch<S>(wave, inst, to, buffer.base + buffer.soffset, offset.lane, exec);
    return;
  }
  BufferLanes lanes(wave, inst, buffer);
  u64 in_range;
  const LaneAddresses at = lanes.addresses(buffer, 0, S::kBytes, exec, in_range);
  if (!buffer.swizzle && (in_range & exec) == exec) {
    load_lanes<S>(wave, inst, to, at, exec);
    return;
  }
  for (int i = 0; i < S::kRegisters && wave.stop == Stop::none; ++i) {
    const LaneAddresses part = lanes.addresses(buffer, i * 4, DwordOf<S>::kBytes, exec, in_range);
    load_lanes<DwordOf<S>>(wave, inst, Registers<1>(to.reg[i]), part, exec & in_range);
    load_zero<DwordOf<S>>(to.reg[i], exec & ~in_range);
  }
}

template <class S>
struct Load {
  static void run(Wave& wave, const Inst& inst) { load_buffer<S>(wave, inst, {wave, inst.dst}); }
};

template <class S>
struct LoadToLds {
  static void run(Wave& wave, const Inst& inst) {
    if constexpr (S::kRegisters == 1) {
      LaneBuffer data = {};
      load_buffer<S>(wave, inst, Registers<1>(data.lane));
      if (wave.stop == Stop::none) {
        store_to_lds_by_lane(wave, inst, data);
      }
    }
  }
};

template <class S>
void store_buffer(Wave& wave, const Inst& inst, const Registers<S::kRegisters>& from) {
  const Buffer buffer(wave, inst);
  const u64 exec = wave.exec();
  if (buffer.is_scratch(inst)) {
    LaneBuffer offset;
    scratch_buffer_offsets(wave, inst, offset);
    store_scratch<S>(wave, inst, from, buffer.base + buffer.soffset, offset.lane, exec);
    return;
  }
  BufferLanes lanes(wave, inst, buffer);
  u64 in_range;
  const LaneAddresses at = lanes.addresses(buffer, 0, S::kBytes, exec, in_range);
  if (!buffer.swizzle && (in_range & exec) == exec) {
    store_lanes<S>(wave, inst, from, at, exec);
    return;
  }
  for (int i = 0; i < S::kRegisters && wave.stop == Stop::none; ++i) {
    const LaneAddresses part = lanes.addresses(buffer, i * 4, DwordOf<S>::kBytes, exec, in_range);
    store_lanes<DwordOf<S>>(wave, inst, Registers<1>(from.reg[i]), part, exec & in_range);
  }
}

template <class S>
struct Store {
  static void run(Wave& wave, const Inst& inst) {
    store_buffer<S>(wave, inst, {wave, inst.src[1]});
  }
};

// From LDS, at M0[15:0] + lane * 4, to memory.
void store_from_lds(Wave& wave, const Inst& inst) {
  LaneBuffer address, data = {};
  for (u32 lane = 0; lane < kLanes; ++lane) {
    address.lane[lane] = (wave.s[op_m0] & 0xffff) + static_cast<u32>(inst.imm) + lane * 4;
  }
  load_lds<Shape<u32>>(wave, Registers<1>(data.lane), address.lane, 0, wave.exec());
  store_buffer<Shape<u32>>(wave, inst, Registers<1>(data.lane));
}

template <class Operation>
struct Atomic {
  static void run(Wave& wave, const Inst& inst) {
    using T = typename Operation::Value;
    const Buffer buffer(wave, inst);
    BufferLanes lanes(wave, inst, buffer);
    const u64 exec = wave.exec();
    u64 in_range;
    const LaneAddresses at = lanes.addresses(buffer, 0, sizeof(T), exec, in_range);
    atomic_lanes<Operation>(wave, inst, at, exec & in_range);
    if (inst.dst != op_none) {
      for (u32 i = 0; i < sizeof(T) / 4; ++i) {
        load_zero<Shape<u32>>(vector(wave, static_cast<u16>(inst.dst + i)), exec & ~in_range);
      }
    }
  }
};

template <class Operation>
struct FloatAtomic {
  static void run(Wave& wave, const Inst& inst) {
    const CacheFloatMode mode(kCacheDenormals<Operation>);
    Atomic<Operation>::run(wave, inst);
  }
};

}  // namespace

Handler select_buffer(const Inst& inst) {
  const u32 opcode = inst.op->opcode;
  if (inst.flags & inst_tfe) {
    return nullptr;  // partially resident memory does not exist here
  }
  switch (inst.op->op) {
    // No caches, nothing to write back or to invalidate.
    case Op::buffer_wbl2:
    case Op::buffer_invl2:
    case Op::buffer_wbinvl1:
    case Op::buffer_wbinvl1_vol: return [](Wave&, const Inst&) {};
    case Op::buffer_store_lds_dword: return store_from_lds;
    default: break;
  }
  if (inst.flags & inst_lds) {
    return load_of<LoadToLds>(opcode);
  }
  for (Handler found : {load_of<Load>(opcode), store_of<Store>(opcode), atomic_of<Atomic>(opcode),
                        float_atomic_of<FloatAtomic>(opcode)}) {
    if (found) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace vgpu::isa::VGPU_ENGINE
