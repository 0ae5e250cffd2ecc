// SMEM: scalar loads, stores, atomics and clocks. Addresses are in dwords: the low two bits of
// base and offset are ignored.
#include "isa/exec/memory.h"
#include "isa/exec/memory_opcodes.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

u64 offset_of(const Wave& wave, const Inst& inst) {
  u64 offset = inst.flags & inst_imm ? static_cast<u64>(static_cast<i64>(inst.imm)) : 0;
  if (inst.flags & inst_soe) {
    offset += scalar32(wave, inst, inst.soffset);
  }
  return offset;
}

// Where an access goes, and how many dwords of it are in range.
struct Place {
  u64 va;
  u32 dwords;
};

template <u32 N>
Place plain_place(const Wave& wave, const Inst& inst) {
  return {(scalar64(wave, inst, inst.src[0]) & ~u64{3}) + (offset_of(wave, inst) & ~u64{3}), N};
}

// Through a buffer descriptor: base in [47:0], stride in [61:48], the number of records (of
// `stride` bytes, or of bytes if that is zero) in the third dword.
template <u32 N>
Place buffer_place(const Wave& wave, const Inst& inst) {
  const u32* descriptor = wave.s + inst.src[0];
  const u64 base = (descriptor[0] | u64{descriptor[1] & 0xffff} << 32) & ~u64{3};
  const u32 stride = descriptor[1] >> 16 & 0x3fff;
  const u64 size = u64{descriptor[2]} * (stride ? stride : 1);
  const u64 offset = offset_of(wave, inst) & ~u64{3};
  const u64 in_range = offset < size ? (size - offset) / 4 : 0;
  return {base + offset, static_cast<u32>(std::min<u64>(N, in_range))};
}

// Private memory of the wave as a whole: the offset counts in units of 64 bytes.
template <u32 N>
Place scratch_place(const Wave& wave, const Inst& inst) {
  u64 offset = inst.flags & inst_imm ? static_cast<u64>(static_cast<i64>(inst.imm)) : 0;
  if (inst.flags & inst_soe) {
    offset += u64{scalar32(wave, inst, inst.soffset)} * 64;
  }
  return {(scalar64(wave, inst, inst.src[0]) & ~u64{3}) + (offset & ~u64{3}), N};
}

// By pairs: a 64-bit value must not be torn.
void read_dwords(const u8* from, u32* to, u32 count) {
  u32 i = 0;
  for (; i + 2 <= count; i += 2) {
    const u64 pair = read_host<u64>(from + i * 4);
    to[i] = static_cast<u32>(pair);
    to[i + 1] = static_cast<u32>(pair >> 32);
  }
  if (i < count) {
    to[i] = read_host<u32>(from + i * 4);
  }
}

template <u32 N, auto Where>
void load(Wave& wave, const Inst& inst) {
  const Place place = Where(wave, inst);
  u32 data[N] = {};
  const u8* from = wave.memory->translate(place.va);
  if (from && !crosses_page(place.va, place.dwords * 4)) {
    read_dwords(from, data, place.dwords);
  } else if (!wave.memory->read(place.va, data, place.dwords * 4)) {
    stop_fault(wave, inst, faulting_address(*wave.memory, place.va, place.dwords * 4, 0), false);
    return;
  }
  for (u32 i = 0; i < N; ++i) {
    set_scalar32(wave, static_cast<u16>(inst.dst + i), data[i]);
  }
}

template <u32 N, auto Where>
void store(Wave& wave, const Inst& inst) {
  const Place place = Where(wave, inst);
  for (u32 i = 0; i < place.dwords; ++i) {
    const u64 va = place.va + i * 4;
    u8* to = wave.memory->translate(va, page_write);
    if (!to) {
      stop_fault(wave, inst, va, true);
      return;
    }
    write_host<u32>(to, scalar32(wave, inst, static_cast<u16>(inst.src[1] + i)));
  }
}

template <class Operation, auto Where>
void modify(Wave& wave, const Inst& inst) {
  using T = typename Operation::Value;
  constexpr u16 kWords = sizeof(T) / 4;
  const auto operand = [&](u16 code) -> T {
    return sizeof(T) == 4 ? scalar32(wave, inst, code) : scalar64(wave, inst, code);
  };
  const Place place = Where(wave, inst);
  T old = 0;
  if (place.dwords == kWords) {
    u8* pointer = wave.memory->translate(place.va, page_write);
    if (!pointer || place.va % sizeof(T) != 0) {
      stop_fault(wave, inst, place.va, true);
      wave.fault.reason = pointer ? "misaligned atomic" : wave.fault.reason;
      return;
    }
    const T b = Operation::kOperands == 2 ? operand(static_cast<u16>(inst.src[1] + kWords)) : 0;
    old = host_atomic<Operation>(pointer, operand(inst.src[1]), b);
  }
  if (inst.dst != op_none) {
    sizeof(T) == 4 ? set_scalar32(wave, inst.dst, static_cast<u32>(old))
                   : set_scalar64(wave, inst.dst, old);
  }
}

template <class Operation>
struct PlainAtomic {
  static void run(Wave& wave, const Inst& inst) {
    modify<Operation, plain_place<sizeof(typename Operation::Value) / 4>>(wave, inst);
  }
};

template <class Operation>
struct BufferAtomic {
  static void run(Wave& wave, const Inst& inst) {
    modify<Operation, buffer_place<sizeof(typename Operation::Value) / 4>>(wave, inst);
  }
};

void no_operation(Wave&, const Inst&) {}

void shader_time(Wave& wave, const Inst& inst) {
  set_scalar64(wave, inst.dst, wave.machine->shader_time());
}

void real_time(Wave& wave, const Inst& inst) {
  set_scalar64(wave, inst.dst, wave.machine->real_time());
}

}  // namespace

Handler select_smem(const Inst& inst) {
  switch (inst.op->op) {
    case Op::s_load_dword: return load<1, plain_place<1>>;
    case Op::s_load_dwordx2: return load<2, plain_place<2>>;
    case Op::s_load_dwordx4: return load<4, plain_place<4>>;
    case Op::s_load_dwordx8: return load<8, plain_place<8>>;
    case Op::s_load_dwordx16: return load<16, plain_place<16>>;
    case Op::s_buffer_load_dword: return load<1, buffer_place<1>>;
    case Op::s_buffer_load_dwordx2: return load<2, buffer_place<2>>;
    case Op::s_buffer_load_dwordx4: return load<4, buffer_place<4>>;
    case Op::s_buffer_load_dwordx8: return load<8, buffer_place<8>>;
    case Op::s_buffer_load_dwordx16: return load<16, buffer_place<16>>;
    case Op::s_scratch_load_dword: return load<1, scratch_place<1>>;
    case Op::s_scratch_load_dwordx2: return load<2, scratch_place<2>>;
    case Op::s_scratch_load_dwordx4: return load<4, scratch_place<4>>;
    case Op::s_store_dword: return store<1, plain_place<1>>;
    case Op::s_store_dwordx2: return store<2, plain_place<2>>;
    case Op::s_store_dwordx4: return store<4, plain_place<4>>;
    case Op::s_buffer_store_dword: return store<1, buffer_place<1>>;
    case Op::s_buffer_store_dwordx2: return store<2, buffer_place<2>>;
    case Op::s_buffer_store_dwordx4: return store<4, buffer_place<4>>;
    case Op::s_scratch_store_dword: return store<1, scratch_place<1>>;
    case Op::s_scratch_store_dwordx2: return store<2, scratch_place<2>>;
    case Op::s_scratch_store_dwordx4: return store<4, scratch_place<4>>;
    case Op::s_memtime: return shader_time;
    case Op::s_memrealtime: return real_time;
    // There are no caches between the wave and memory. Discarding dirty lines is only a hint here:
    // the program promises not to need them.
    case Op::s_dcache_inv:
    case Op::s_dcache_wb:
    case Op::s_dcache_inv_vol:
    case Op::s_dcache_wb_vol:
    case Op::s_dcache_discard:
    case Op::s_dcache_discard_x2:
    // Address translation prefetch.
    case Op::s_atc_probe:
    case Op::s_atc_probe_buffer: return no_operation;
    default: break;
  }
  if (inst.op->opcode >= 0x80) {
    return atomic_of<PlainAtomic>(inst.op->opcode - 0x40);
  }
  return atomic_of<BufferAtomic>(inst.op->opcode);
}

}  // namespace vgpu::isa::VGPU_ENGINE
