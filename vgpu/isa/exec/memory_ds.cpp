// DS reads and writes.
#include "isa/exec/memory.h"
#include "isa/exec/memory_lds.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

template <class S>
void read(Wave& wave, const Inst& inst) {
  load_lds<S>(wave, {wave, inst.dst}, vector(wave, inst.src[0]), inst.imm, wave.exec());
}

template <class S>
void write(Wave& wave, const Inst& inst) {
  store_lds<S>(wave, {wave, inst.src[1]}, vector(wave, inst.src[0]), inst.imm, wave.exec());
}

// Two elements at offsets counted in elements, or in 64 elements.
template <class S, u32 kScale>
void read2(Wave& wave, const Inst& inst) {
  constexpr u32 kUnit = S::kBytes * kScale;
  const Registers<S::kRegisters> first(wave, inst.dst);
  const Registers<S::kRegisters> second(wave, static_cast<u16>(inst.dst + S::kRegisters));
  const u32* address = vector(wave, inst.src[0]);
  LaneBuffer copy;
  if (std::find(first.reg, first.reg + S::kRegisters, address) != first.reg + S::kRegisters) {
    std::copy_n(address, kLanes, copy.lane);  // the first element goes to the address register
    address = copy.lane;
  }
  load_lds<S>(wave, first, address, inst.imm * kUnit, wave.exec());
  load_lds<S>(wave, second, address, inst.ext * kUnit, wave.exec());
}

template <class S, u32 kScale>
void write2(Wave& wave, const Inst& inst) {
  constexpr u32 kUnit = S::kBytes * kScale;
  const u32* address = vector(wave, inst.src[0]);
  store_lds<S>(wave, {wave, inst.src[1]}, address, inst.imm * kUnit, wave.exec());
  store_lds<S>(wave, {wave, inst.src[2]}, address, inst.ext * kUnit, wave.exec());
}

// The address is M0 plus four bytes per lane, without a register.
void lane_addresses(const Wave& wave, LaneBuffer& address) {
  for (u32 lane = 0; lane < kLanes; ++lane) {
    address.lane[lane] = (wave.s[op_m0] & 0xffff) + lane * 4;
  }
}

void read_addtid(Wave& wave, const Inst& inst) {
  LaneBuffer address;
  lane_addresses(wave, address);
  load_lds<Shape<u32>>(wave, {wave, inst.dst}, address.lane, inst.imm, wave.exec());
}

void write_addtid(Wave& wave, const Inst& inst) {
  LaneBuffer address;
  lane_addresses(wave, address);
  store_lds<Shape<u32>>(wave, {wave, inst.src[1]}, address.lane, inst.imm, wave.exec());
}

}  // namespace

Handler select_ds(const Inst& inst) {
  if (inst.flags & inst_gds) {
    return nullptr;  // global data share: no compute code uses it but for wave sync
  }
  switch (inst.op->op) {
    case Op::ds_read_b32: return read<Shape<u32>>;
    case Op::ds_read_b64: return read<Shape<u32, 2>>;
    case Op::ds_read_b96: return read<Shape<u32, 3>>;
    case Op::ds_read_b128: return read<Shape<u32, 4>>;
    case Op::ds_read_u8: return read<Shape<u8>>;
    case Op::ds_read_i8: return read<Shape<i8>>;
    case Op::ds_read_u16: return read<Shape<u16>>;
    case Op::ds_read_i16: return read<Shape<i16>>;
    case Op::ds_read_u8_d16: return read<Shape<u8, 1, Half::low>>;
    case Op::ds_read_u8_d16_hi: return read<Shape<u8, 1, Half::high>>;
    case Op::ds_read_i8_d16: return read<Shape<i8, 1, Half::low>>;
    case Op::ds_read_i8_d16_hi: return read<Shape<i8, 1, Half::high>>;
    case Op::ds_read_u16_d16: return read<Shape<u16, 1, Half::low>>;
    case Op::ds_read_u16_d16_hi: return read<Shape<u16, 1, Half::high>>;
    case Op::ds_read2_b32: return read2<Shape<u32>, 1>;
    case Op::ds_read2st64_b32: return read2<Shape<u32>, 64>;
    case Op::ds_read2_b64: return read2<Shape<u32, 2>, 1>;
    case Op::ds_read2st64_b64: return read2<Shape<u32, 2>, 64>;
    case Op::ds_read_addtid_b32: return read_addtid;
    case Op::ds_write_b8: return write<Shape<u8>>;
    case Op::ds_write_b8_d16_hi: return write<Shape<u8, 1, Half::high>>;
    case Op::ds_write_b16: return write<Shape<u16>>;
    case Op::ds_write_b16_d16_hi: return write<Shape<u16, 1, Half::high>>;
    case Op::ds_write_b32: return write<Shape<u32>>;
    case Op::ds_write_b64: return write<Shape<u32, 2>>;
    case Op::ds_write_b96: return write<Shape<u32, 3>>;
    case Op::ds_write_b128: return write<Shape<u32, 4>>;
    case Op::ds_write2_b32: return write2<Shape<u32>, 1>;
    case Op::ds_write2st64_b32: return write2<Shape<u32>, 64>;
    case Op::ds_write2_b64: return write2<Shape<u32, 2>, 1>;
    case Op::ds_write2st64_b64: return write2<Shape<u32, 2>, 64>;
    case Op::ds_write_addtid_b32: return write_addtid;
    case Op::ds_nop: return [](Wave&, const Inst&) {};
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
