#include "isa/disasm.h"

#include <fmt/format.h>

#include "isa/disasm_operands.h"

namespace vgpu::isa {
namespace {

bool is_immediate(Type type) { return type >= Type::imm16; }

std::string disassemble_scalar(const Inst& inst) {
  const OpInfo& op = *inst.op;
  std::string operands;
  const auto add = [&operands](const std::string& text) {
    operands += (operands.empty() ? " " : ", ") + text;
  };
  const u32 literal = static_cast<u32>(inst.imm);
  const bool register_last = op.op == Op::s_setreg_b32;
  if (inst.dst != op_none) {
    add(operand_name(inst.dst, op.dst, 0));
  }
  if (op.has(trait::reads_sdst) && !register_last) {
    add(operand_name(inst.src[0], op.dst, 0));
  }
  for (int i = 0; i < 3 && op.src[i] != Type::none; ++i) {
    add(is_immediate(op.src[i]) ? immediate_name(inst, op.src[i])
                                : operand_name(inst.src[i], op.src[i], literal));
  }
  if (register_last) {
    add(operand_name(inst.src[0], op.dst, 0));
  }
  if (op.has(trait::literal)) {
    add(operand_name(op_literal, Type::b32, inst.ext));
  }
  if (op.op == Op::s_endpgm && inst.imm == 0) {
    operands.clear();
  }
  return op.name + operands;
}

}  // namespace

std::string disassemble(const Inst& inst) {
  switch (inst.op->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp: return disassemble_scalar(inst);
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3p: return disassemble_vector(inst);
    default: return disassemble_memory(inst);
  }
}

std::string disassemble(Arch arch, const u32* words, int available) {
  Inst inst;
  if (decode(arch, words, available, inst)) {
    return disassemble(inst);
  }
  return available > 0 ? fmt::format("{} encoding 0x{:08x}", encoding_kind(words[0]), words[0])
                       : "no instruction";
}

}  // namespace vgpu::isa
