// VOP3 and VOP3P: two dwords, never a literal.
#include "isa/decode_fields.h"

namespace vgpu::isa {
namespace {

u32 source_field(const Decoder& d, int index) { return bits(d.high(), 9 * index, 9); }

// Sources for which neg and abs are allowed, a bit each.
u32 float_sources(const OpInfo& op) {
  u32 mask = 0;
  for (int i = 0; i < 3; ++i) {
    const bool mask_operand = i == 2 && op.has(trait::carry_in);
    const bool modified = op.has(trait::fp_mods) && op.src[i] != Type::none && !mask_operand;
    mask |= u32{is_float(op.src[i]) || modified} << i;
  }
  return mask;
}

// The first source code a source must stay below. Lane masks are registers; the lane number of
// v_readlane and v_writelane, and what v_writelane writes, come from a scalar.
u32 source_limit(const OpInfo& op, int index) {
  if (index == 2 && op.has(trait::carry_in)) {
    return op_const0;
  }
  const bool scalar = op.op == Op::v_writelane_b32 || (op.op == Op::v_readlane_b32 && index == 1);
  return scalar ? op_vgpr0 : op_acc0;
}

// Sources wider than 64 bits, and that of v_readlane, are VGPRs (v_readlane: or LDS).
u32 source_minimum(const OpInfo& op, int index) {
  if (op.op == Op::v_readlane_b32 && index == 0) {
    return op_lds_direct;
  }
  return dwords(op.src[index]) > 2 ? op_vgpr0 : 0;
}

bool decode_sources(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  for (int i = 0; i < 3; ++i) {
    const u32 code = source_field(d, i);
    if (op.src[i] == Type::none) {
      if (code != 0) {
        return false;
      }
      continue;
    }
    if (code < source_minimum(op, i) || code >= source_limit(op, i) ||
        !d.vector_source(d.inst.src[i], code, op.src[i], false)) {
      return false;
    }
  }
  return true;
}

bool decode_destination(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const u32 vdst = bits(d.low(), 0, 8);
  if (op.opcode < 0x100) {  // v_cmp
    const bool valid = vdst < op_const0 && scalar_register(d.inst.dst, vdst, op.dst);
    d.inst.sdst = d.inst.dst;
    return valid;
  }
  if (op.dst == Type::none) {
    return vdst == 0;
  }
  if (op.has(trait::scalar_dst)) {
    return vdst < op_const0 && scalar_register(d.inst.dst, vdst, op.dst);
  }
  return vector_register(d.inst.dst, vdst, op.dst);
}

// Bits 8 to 14: sdst in VOP3B; abs and op_sel otherwise.
bool decode_middle(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  if (op.has(trait::carry_out)) {
    return scalar_register(d.inst.sdst, bits(d.low(), 8, 7), Type::b64);
  }
  d.inst.abs = static_cast<u8>(bits(d.low(), 8, 3));
  if (op.has(trait::op_sel)) {
    d.inst.opsel = static_cast<u8>(bits(d.low(), 11, 4));
    const bool third_without_source = bit(d.inst.opsel, 2) && op.src[2] == Type::none;
    return !third_without_source;
  }
  return true;  // op_sel is ignored
}

bool modifiers_ok(const Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const u32 allowed = float_sources(op);
  return (d.inst.neg & ~allowed) == 0 && (d.inst.abs & ~allowed) == 0 &&
         (d.inst.omod == 0 || op.has(trait::omod)) &&
         ((d.inst.flags & inst_clamp) == 0 || op.has(trait::clamp));
}

bool decode_plain(Decoder& d) {
  d.flag(bit(d.low(), 15), inst_clamp);
  d.inst.omod = static_cast<u8>(bits(d.high(), 27, 2));
  d.inst.neg = static_cast<u8>(bits(d.high(), 29, 3));
  return decode_middle(d) && modifiers_ok(d) && decode_destination(d) && decode_sources(d);
}

bool decode_packed(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const int sources = source_count(op);
  const u32 present = (1u << sources) - 1;
  d.flag(bit(d.low(), 15), inst_clamp);
  d.inst.opsel = static_cast<u8>(bits(d.low(), 11, 3));
  d.inst.neg = static_cast<u8>(bits(d.high(), 29, 3));
  d.inst.neg_hi = static_cast<u8>(bits(d.low(), 8, 3));
  const u32 opsel_hi = bits(d.high(), 27, 2) | bits(d.low(), 14, 1) << 2;
  d.inst.opsel_hi = static_cast<u8>(opsel_hi & present);
  const u32 negatable = float_sources(op);
  return (d.inst.opsel & ~present) == 0 && ((d.inst.neg | d.inst.neg_hi) & ~negatable) == 0 &&
         vector_register(d.inst.dst, bits(d.low(), 0, 8), op.dst) && decode_sources(d);
}

bool decode_accvgpr_move(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  if (bits(d.low(), 8, 6) != 0 || bits(d.high(), 9, 18) != 0 || bits(d.high(), 29, 3) != 0) {
    return false;
  }
  if (op.has(trait::acc_src)) {
    return vector_register(d.inst.dst, bits(d.low(), 0, 8), op.dst) &&
           vector_register(d.inst.src[0], bits(d.high(), 0, 8), op.src[0], true);
  }
  return vector_register(d.inst.dst, bits(d.low(), 0, 8), op.dst, true) &&
         d.vector_source(d.inst.src[0], source_field(d, 0), op.src[0], false);
}

// A and B are vector registers of either file; C is one, of the file of D, or a constant.
bool decode_mfma(Decoder& d) {
  const OpInfo& op = *d.inst.op;
  const bool acc_cd = bit(d.low(), 15);
  d.inst.ext = bits(d.low(), 8, 3) | bits(d.low(), 11, 4) << 4 | bits(d.high(), 29, 3) << 8;
  d.flag(acc_cd, inst_acc);
  for (int i = 0; i < 2; ++i) {
    const u32 code = source_field(d, i);
    const bool acc = bit(d.high(), 27 + i);
    if (code < op_vgpr0 || !vector_register(d.inst.src[i], code - op_vgpr0, op.src[i], acc)) {
      return false;
    }
  }
  const u32 c = source_field(d, 2);
  const bool c_ok = c >= op_vgpr0
                        ? vector_register(d.inst.src[2], c - op_vgpr0, op.src[2], acc_cd)
                        : c >= op_const0 && d.scalar_source(d.inst.src[2], c, op.src[2], false);
  return c_ok && vector_register(d.inst.dst, bits(d.low(), 0, 8), op.dst, acc_cd);
}

}  // namespace

bool decode_vop3(Decoder& d) {
  if (bits(d.low(), 23, 9) == 0b110100111) {
    if (!d.begin(Format::vop3p, bits(d.low(), 16, 7), 2)) {
      return false;
    }
    const OpInfo& op = *d.inst.op;
    if (op.has(trait::mfma)) {
      return decode_mfma(d);
    }
    return op.has(trait::acc_src | trait::acc_dst) ? decode_accvgpr_move(d) : decode_packed(d);
  }
  return d.begin(Format::vop3, bits(d.low(), 16, 10), 2) && decode_plain(d);
}

}  // namespace vgpu::isa
