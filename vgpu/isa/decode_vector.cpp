// VOP1, VOP2 and VOPC. Source code 249 announces an SDWA dword, 250 a DPP dword, 255 a literal.
#include "isa/decode_fields.h"

namespace vgpu::isa {
namespace {

bool wide(const OpInfo& op) {
  const bool wide_dst = op.format != Format::vopc && dwords(op.dst) > 1;
  return wide_dst || dwords(op.src[0]) > 1 || dwords(op.src[1]) > 1;
}

// Modifiers of one source in an SDWA dword: select [2:0], sext, neg, abs.
bool sdwa_source(Decoder& d, int index, u32 fields) {
  const bool sext = bit(fields, 3), neg = bit(fields, 4), abs = bit(fields, 5);
  if (bits(fields, 0, 3) == 7) {
    return false;
  }
  d.inst.neg = static_cast<u8>(d.inst.neg | neg << index);
  d.inst.abs = static_cast<u8>(d.inst.abs | abs << index);
  return is_float(d.inst.op->src[index]) ? !sext : !neg && !abs;
}

bool sdwa_vopc_destination(Decoder& d, u32 word) {
  d.inst.dst = op_vcc;
  const bool explicit_sdst = bit(word, 15);
  const bool valid = !explicit_sdst || scalar_register(d.inst.dst, bits(word, 8, 7), Type::b64);
  d.inst.sdst = d.inst.dst;
  return valid;
}

// dst_sel [10:8], dst_unused [12:11], clamp, omod [15:14].
bool sdwa_destination(Decoder& d, u32 word) {
  d.flag(bit(word, 13), inst_clamp);
  d.inst.omod = static_cast<u8>(bits(word, 14, 2));
  return bits(word, 8, 3) != 7 && bits(word, 11, 2) != 3 &&
         (d.inst.omod == 0 || is_float(d.inst.op->dst));
}

bool decode_sdwa(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  u32 word = 0;
  if (op.has(trait::no_sdwa) || wide(op) || !d.take_second_word(word)) {
    return false;
  }
  d.flag(true, inst_sdwa);
  d.inst.ext = word;
  const u32 source0 = bits(word, 0, 8) + (bit(word, 23) ? 0 : u32{op_vgpr0});
  if (op.dst == Type::none) {
    return bits(word, 13, 19) == 0 && source0 == op_vgpr0;  // v_nop
  }
  const bool destination_ok =
      op.format == Format::vopc ? sdwa_vopc_destination(d, word) : sdwa_destination(d, word);
  if (!destination_ok || !sdwa_source(d, 0, bits(word, 16, 6)) ||
      !d.vector_source(d.inst.src[0], source0, op.src[0], false)) {
    return false;
  }
  if (op.src[1] == Type::none) {
    return (word & 0xbf000000) == 0;  // bit 30 is not used
  }
  if (bit(word, 31)) {
    const u32 code = d.inst.src[1] - op_vgpr0;
    if (!d.scalar_source(d.inst.src[1], code, op.src[1], false)) {
      return false;
    }
  }
  return sdwa_source(d, 1, bits(word, 24, 6));
}

// Controls gfx9 knows: quad_perm, row shifts and rotates, wave shifts and rotates, mirrors,
// broadcasts; gfx90a adds row_newbcast, the only one for 64-bit operands.
bool dpp_control_ok(Decoder& d, u32 control) {
  const bool newbcast = control >= 0x150 && control <= 0x15f;
  if (wide(*d.inst.op) && dwords(d.inst.op->src[0]) > 1) {
    return d.gfx90a() && newbcast;
  }
  if (newbcast) {
    return d.gfx90a();
  }
  if (control <= 0xff) {
    return true;
  }
  if (control >= 0x101 && control <= 0x12f) {
    return (control & 0xf) != 0;
  }
  switch (control) {
    case 0x130:
    case 0x134:
    case 0x138:
    case 0x13c:  // wave shift and rotate
    case 0x140:
    case 0x141:  // mirrors
    case 0x142:
    case 0x143: return true;  // row_bcast:15 and :31
    default: return false;
  }
}

bool decode_dpp(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  u32 word = 0;
  if (op.has(trait::no_dpp) || op.format == Format::vopc || (wide(op) && !d.gfx90a()) ||
      !d.take_second_word(word)) {
    return false;
  }
  d.flag(true, inst_dpp);
  d.inst.ext = word;
  if (!dpp_control_ok(d, bits(word, 8, 9))) {
    return false;
  }
  if (op.dst == Type::none) {
    return bits(word, 0, 8) == 0 && bits(word, 20, 4) == 0;  // v_nop
  }
  for (int i = 0; i < 2; ++i) {
    const bool neg = bit(word, 20 + 2 * i), abs = bit(word, 21 + 2 * i);
    if ((neg || abs) && !is_float(op.src[i])) {
      return false;
    }
    d.inst.neg = static_cast<u8>(d.inst.neg | neg << i);
    d.inst.abs = static_cast<u8>(d.inst.abs | abs << i);
  }
  return vector_register(d.inst.src[0], bits(word, 0, 8), op.src[0]);
}

bool first_source(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const u32 code = bits(d.low(), 0, 9);
  if (code == op_sdwa) {
    return decode_sdwa(d);
  }
  if (code == op_dpp) {
    return decode_dpp(d);
  }
  if (op.src[0] == Type::none) {
    return true;  // v_nop and v_clrexcp ignore the field
  }
  if (op.has(trait::scalar_dst) && code < op_vgpr0 && code != op_lds_direct) {
    return false;  // v_readfirstlane reads a vector
  }
  return d.vector_source(d.inst.src[0], code, op.src[0], true);
}

// Moves between registers of one kind only: both fields are plain register numbers.
bool decode_register_move(Decoder& d) {
  const bool acc = d.inst.op->op == Op::v_accvgpr_mov_b32;
  return vector_register(d.inst.dst, bits(d.low(), 17, 8), Type::b32, acc) &&
         vector_register(d.inst.src[0], bits(d.low(), 0, 8), Type::b32, acc);
}

bool decode_vop1(Decoder& d) {
  if (!d.begin(Format::vop1, bits(d.low(), 9, 8), 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  const u32 vdst = bits(d.low(), 17, 8);
  if (op.op == Op::v_swap_b32 || op.op == Op::v_accvgpr_mov_b32) {
    return decode_register_move(d);
  }
  if (op.dst == Type::none) {
    return vdst == 0 && first_source(d);
  }
  const bool destination_ok = op.has(trait::scalar_dst) ? scalar_register(d.inst.dst, vdst, op.dst)
                                                        : vector_register(d.inst.dst, vdst, op.dst);
  return destination_ok && first_source(d);
}

bool decode_vopc(Decoder& d) {
  if (!d.begin(Format::vopc, bits(d.low(), 17, 8), 1)) {
    return false;
  }
  d.inst.dst = d.inst.sdst = op_vcc;
  return vector_register(d.inst.src[1], bits(d.low(), 9, 8), d.inst.op->src[1]) && first_source(d);
}

// d = s0 * K + s1 and d = s0 * s1 + K: K is the literal.
bool decode_mad_literal(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  u32 literal = 0;
  if (!d.take_second_word(literal) ||
      !d.vector_source(d.inst.src[0], bits(d.low(), 0, 9), op.src[0], true)) {
    return false;
  }
  d.inst.imm = static_cast<i32>(literal);
  if (op.has(trait::madmk)) {
    d.inst.src[2] = d.inst.src[1];
    d.inst.src[1] = op_literal;
  } else {
    d.inst.src[2] = op_literal;
  }
  return true;
}

bool decode_vop2(Decoder& d) {
  if (!d.begin(Format::vop2, bits(d.low(), 25, 6), 1)) {
    return false;
  }
  const OpInfo& op = *d.inst.op;
  if (!vector_register(d.inst.dst, bits(d.low(), 17, 8), op.dst) ||
      !vector_register(d.inst.src[1], bits(d.low(), 9, 8), op.src[1])) {
    return false;
  }
  if (op.has(trait::madmk | trait::madak)) {
    return decode_mad_literal(d);
  }
  if (op.has(trait::carry_out)) {
    d.inst.sdst = op_vcc;
  }
  if (op.has(trait::carry_in)) {
    d.inst.src[2] = op_vcc;
  }
  return first_source(d);
}

}  // namespace

bool decode_vop12c(Decoder& d) {
  switch (bits(d.low(), 25, 7)) {
    case 0b0111111: return decode_vop1(d);
    case 0b0111110: return decode_vopc(d);
    default: return decode_vop2(d);
  }
}

}  // namespace vgpu::isa
