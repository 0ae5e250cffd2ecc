// SOP1, SOP2, SOPC, SOPK and SOPP: one dword, and a literal if a source says so.
#include "isa/decode_fields.h"

namespace vgpu::isa {
namespace {

bool decode_sop1(Decoder& d) {
  if (!d.begin(Format::sop1, bits(d.low(), 8, 8), 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  if (op.dst != Type::none && !scalar_register(d.inst.dst, bits(d.low(), 16, 7), op.dst)) {
    return false;
  }
  const u32 source = bits(d.low(), 0, 8);
  if (op.has(trait::register_src)) {
    return source < op_const0 && scalar_register(d.inst.src[0], source, op.src[0]);
  }
  return op.src[0] == Type::none || d.scalar_source(d.inst.src[0], source, op.src[0], true);
}

bool decode_sop2(Decoder& d) {
  if (!d.begin(Format::sop2, bits(d.low(), 23, 7), 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  if (op.dst != Type::none && !scalar_register(d.inst.dst, bits(d.low(), 16, 7), op.dst)) {
    return false;
  }
  return d.scalar_source(d.inst.src[0], bits(d.low(), 0, 8), op.src[0], true) &&
         d.scalar_source(d.inst.src[1], bits(d.low(), 8, 8), op.src[1], true);
}

bool decode_sopc(Decoder& d) {
  if (!d.begin(Format::sopc, bits(d.low(), 16, 7), 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  if (!d.scalar_source(d.inst.src[0], bits(d.low(), 0, 8), op.src[0], true)) {
    return false;
  }
  const u32 second = bits(d.low(), 8, 8);
  if (op.src[1] == Type::gpr_idx) {
    // The literal of the first operand would be in imm too; nobody indexes by a literal.
    d.inst.imm = static_cast<i32>(second);
    return d.inst.src[0] != op_literal;
  }
  return d.scalar_source(d.inst.src[1], second, op.src[1], true);
}

bool decode_sopk(Decoder& d) {
  const u32 opcode = bits(d.low(), 23, 5);
  if (!d.begin(Format::sopk, opcode, 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  d.inst.imm = sign_extend(bits(d.low(), 0, 16), 16);
  const u32 sdst = bits(d.low(), 16, 7);
  if (op.has(trait::literal)) {
    return d.take_second_word(d.inst.ext);
  }
  return scalar_register(op.has(trait::reads_sdst) ? d.inst.src[0] : d.inst.dst, sdst, op.dst);
}

bool decode_sopp(Decoder& d) {
  if (!d.begin(Format::sopp, bits(d.low(), 16, 7), 1)) {
    return false;
  }
  const u32 simm16 = bits(d.low(), 0, 16);
  d.inst.imm = sign_extend(simm16, 16);
  return d.inst.op->src[0] != Type::none || simm16 == 0;
}

}  // namespace

bool decode_scalar(Decoder& d) {
  switch (bits(d.low(), 23, 9)) {
    case 0b101111101: return decode_sop1(d);
    case 0b101111110: return decode_sopc(d);
    case 0b101111111: return decode_sopp(d);
    default: return bits(d.low(), 28, 4) == 0b1011 ? decode_sopk(d) : decode_sop2(d);
  }
}

}  // namespace vgpu::isa
