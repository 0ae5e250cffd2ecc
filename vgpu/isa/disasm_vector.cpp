// VOP1, VOP2, VOPC, VOP3 and VOP3P as text.
#include <fmt/format.h>

#include "isa/decode_fields.h"
#include "isa/disasm.h"
#include "isa/disasm_operands.h"

namespace vgpu::isa {
namespace {

// LLVM marks the length of instructions that have more than one.
std::string mnemonic(const Inst& inst) {
  const OpInfo& op = *inst.op;
  const char* suffix = "";
  const bool one_name = op.op == Op::v_nop || op.op == Op::v_clrexcp ||
                        op.op == Op::v_readfirstlane_b32 || op.op == Op::v_swap_b32 ||
                        op.op == Op::v_accvgpr_mov_b32 || op.has(trait::madmk | trait::madak);
  if (op.format == Format::vop3p || one_name) {
    suffix = "";
  } else if (op.format == Format::vop3) {
    suffix = op.opcode < 0x1c0 ? "_e64" : "";
  } else if (inst.flags & inst_sdwa) {
    suffix = "_sdwa";
  } else if (inst.flags & inst_dpp) {
    suffix = "_dpp";
  } else {
    suffix = "_e32";
  }
  return std::string(op.name) + suffix;
}

bool is_constant(u16 code) {
  return (code >= op_const0 && code <= 208) || (code >= op_float0 && code <= op_float0 + 8) ||
         code == op_literal;
}

std::string source(const Inst& inst, int index) {
  const OpInfo& op = *inst.op;
  const u32 literal = static_cast<u32>(inst.imm);
  const bool constant_operand = op.has(trait::madmk) || (op.has(trait::madak) && index == 2);
  if (inst.src[index] == op_literal && constant_operand) {
    return fmt::format("0x{:x}", literal);
  }
  std::string text = operand_name(inst.src[index], op.src[index], literal);
  if (op.format == Format::vop3p) {
    return text;
  }
  const int sext_bit = index == 0 ? 19 : 27;
  if ((inst.flags & inst_sdwa) && index < 2 && !is_float(op.src[index]) &&
      bit(inst.ext, sext_bit)) {
    return "sext(" + text + ")";
  }
  const bool neg = bit(inst.neg, index), abs = bit(inst.abs, index);
  if (abs) {
    text = "|" + text + "|";
  }
  if (neg) {
    text = is_constant(inst.src[index]) && !abs ? "neg(" + text + ")" : "-" + text;
  }
  return text;
}

std::string operands(const Inst& inst) {
  const OpInfo& op = *inst.op;
  if (op.dst == Type::none) {
    return "";
  }
  std::string text = fmt::format(" {}", operand_name(inst.dst, op.dst, 0));
  if (op.has(trait::carry_out)) {
    text += ", " + operand_name(inst.sdst, Type::b64, 0);
  }
  for (int i = 0; i < source_count(op); ++i) {
    text += ", " + source(inst, i);
  }
  return text;
}

std::string clamp_and_omod(const Inst& inst) {
  static constexpr const char* kOmod[] = {"", " mul:2", " mul:4", " div:2"};
  return std::string(inst.flags & inst_clamp ? " clamp" : "") + kOmod[inst.omod];
}

std::string bit_list(const char* name, u32 value, int count) {
  std::string text = fmt::format(" {}:[", name);
  for (int i = 0; i < count; ++i) {
    text += fmt::format("{}{}", i == 0 ? "" : ",", value >> i & 1);
  }
  return text + "]";
}

std::string vop3_modifiers(const Inst& inst) {
  std::string text;
  if (inst.opsel != 0) {
    // The destination's bit is printed last, behind those of the sources there are.
    const int sources = source_count(*inst.op);
    const u32 list = (inst.opsel & ((1u << sources) - 1)) | bits(inst.opsel, 3, 1) << sources;
    text = bit_list("op_sel", list, sources + 1);
  }
  return text + clamp_and_omod(inst);
}

std::string vop3p_modifiers(const Inst& inst) {
  const OpInfo& op = *inst.op;
  const int sources = source_count(op);
  const u32 all = (1u << sources) - 1;
  std::string text;
  if (inst.opsel != 0) {
    text += bit_list("op_sel", inst.opsel, sources);
  }
  if (inst.opsel_hi != (op.has(trait::mix) ? 0 : all)) {
    text += bit_list("op_sel_hi", inst.opsel_hi, sources);
  }
  if (inst.neg != 0) {
    text += bit_list("neg_lo", inst.neg, sources);
  }
  if (inst.neg_hi != 0) {
    text += bit_list("neg_hi", inst.neg_hi, sources);
  }
  return text + clamp_and_omod(inst);
}

std::string mfma_modifiers(const Inst& inst) {
  std::string text;
  const auto add = [&text](const char* name, u32 value) {
    if (value != 0) {
      text += fmt::format(" {}:{}", name, value);
    }
  };
  add("cbsz", bits(inst.ext, 0, 4));
  add("abid", bits(inst.ext, 4, 4));
  add("blgp", bits(inst.ext, 8, 3));
  return text;
}

// v_fma_mix prints its source modifiers as VOP3 does: neg_hi is abs there.
std::string mix_operands(const Inst& inst) {
  Inst plain = inst;
  OpInfo op = *inst.op;
  op.format = Format::vop3;
  plain.op = &op;
  plain.abs = inst.neg_hi;
  return operands(plain);
}

std::string disassemble_vop3p(const Inst& inst) {
  const OpInfo& op = *inst.op;
  if (op.has(trait::mfma)) {
    return op.name + operands(inst) + mfma_modifiers(inst);
  }
  if (op.has(trait::acc_src | trait::acc_dst)) {
    return op.name + operands(inst);
  }
  if (op.has(trait::mix)) {
    Inst plain = inst;
    plain.neg = plain.neg_hi = 0;
    return op.name + mix_operands(inst) + vop3p_modifiers(plain);
  }
  return op.name + operands(inst) + vop3p_modifiers(inst);
}

std::string sdwa_modifiers(const Inst& inst) {
  static constexpr const char* kSelect[] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                            "WORD_0", "WORD_1", "DWORD",  "?"};
  static constexpr const char* kUnused[] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE", "?"};
  const OpInfo& op = *inst.op;
  const u32 word = inst.ext;
  if (op.dst == Type::none) {
    return "";
  }
  std::string text = clamp_and_omod(inst);
  if (op.format != Format::vopc) {
    text += fmt::format(" dst_sel:{} dst_unused:{}", kSelect[bits(word, 8, 3)],
                        kUnused[bits(word, 11, 2)]);
  }
  text += fmt::format(" src0_sel:{}", kSelect[bits(word, 16, 3)]);
  if (op.src[1] != Type::none) {
    text += fmt::format(" src1_sel:{}", kSelect[bits(word, 24, 3)]);
  }
  return text;
}

std::string dpp_control(u32 control) {
  const u32 low = control & 15;
  if (control <= 0xff) {
    return fmt::format("quad_perm:[{},{},{},{}]", control & 3, control >> 2 & 3, control >> 4 & 3,
                       control >> 6);
  }
  switch (control & ~15u) {
    case 0x100: return fmt::format("row_shl:{}", low);
    case 0x110: return fmt::format("row_shr:{}", low);
    case 0x120: return fmt::format("row_ror:{}", low);
    case 0x150: return fmt::format("row_newbcast:{}", low);
    default: break;
  }
  switch (control) {
    case 0x130: return "wave_shl:1";
    case 0x134: return "wave_rol:1";
    case 0x138: return "wave_shr:1";
    case 0x13c: return "wave_ror:1";
    case 0x140: return "row_mirror";
    case 0x141: return "row_half_mirror";
    case 0x142: return "row_bcast:15";
    default: return "row_bcast:31";
  }
}

std::string dpp_modifiers(const Inst& inst) {
  const u32 word = inst.ext;
  return fmt::format(" {} row_mask:0x{:x} bank_mask:0x{:x}{}", dpp_control(bits(word, 8, 9)),
                     bits(word, 28, 4), bits(word, 24, 4), bit(word, 19) ? " bound_ctrl:1" : "");
}

}  // namespace

std::string disassemble_vector(const Inst& inst) {
  if (inst.op->format == Format::vop3p) {
    return disassemble_vop3p(inst);
  }
  std::string text = mnemonic(inst) + operands(inst);
  if (inst.flags & inst_sdwa) {
    return text + sdwa_modifiers(inst);
  }
  if (inst.flags & inst_dpp) {
    return text + dpp_modifiers(inst);
  }
  return inst.op->format == Format::vop3 ? text + vop3_modifiers(inst) : text;
}

}  // namespace vgpu::isa
