// Memory instructions as text.
#include <fmt/format.h>

#include "isa/decode_fields.h"
#include "isa/disasm.h"
#include "isa/disasm_operands.h"

namespace vgpu::isa {
namespace {

// Operands separated by commas, then modifiers.
class Text {
 public:
  explicit Text(const OpInfo& op) : text_(op.name) {}

  void operand(const std::string& text) {
    text_ += (first_ ? " " : ", ") + text;
    first_ = false;
  }
  void operand(u16 code, Type type) { operand(operand_name(code, type, 0)); }
  void modifier(const std::string& text) { text_ += " " + text; }
  void modifier_if(bool on, const char* name) {
    if (on) {
      modifier(name);
    }
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  bool first_ = true;
};

std::string signed_hex(i32 value) {
  return value < 0 ? fmt::format("-0x{:x}", -static_cast<i64>(value))
                   : fmt::format("0x{:x}", value);
}

std::string disassemble_smem(const Inst& inst) {
  const OpInfo& op = *inst.op;
  Text text(op);
  if (op.dst == Type::imm7) {
    text.operand(inst.ext <= 64 ? std::to_string(inst.ext) : fmt::format("0x{:x}", inst.ext));
  } else if (op.dst != Type::none) {
    text.operand(inst.src[1] != op_none ? inst.src[1] : inst.dst, op.dst);
  }
  if (op.src[0] != Type::none) {
    text.operand(inst.src[0], op.src[0]);
    if (inst.flags & inst_soe) {
      text.operand(inst.soffset, Type::b32);
      if (inst.flags & inst_imm) {
        text.modifier("offset:" + signed_hex(inst.imm));
      }
    } else {
      text.operand(signed_hex(inst.imm));
    }
  }
  text.modifier_if(op.has(trait::load | trait::store | trait::atomic) && op.src[0] != Type::none &&
                       (inst.flags & inst_glc),
                   "glc");
  return text.take();
}

std::string disassemble_ds(const Inst& inst) {
  const OpInfo& op = *inst.op;
  Text text(op);
  if (op.dst != Type::none) {
    text.operand(inst.dst, op.dst);
  }
  for (int i = 0; i < 3; ++i) {
    if (op.src[i] != Type::none) {
      text.operand(inst.src[i], op.src[i]);
    }
  }
  const u32 offset = static_cast<u32>(inst.imm);
  if (op.has(trait::swizzle)) {
    if (offset != 0) {
      text.modifier("offset:" + swizzle_name(offset));
    }
  } else if (offset != 0) {
    text.modifier(fmt::format("{}:{}", op.has(trait::two_offsets) ? "offset0" : "offset", offset));
  }
  if (inst.ext != 0) {
    text.modifier(fmt::format("offset1:{}", inst.ext));
  }
  text.modifier_if(inst.flags & inst_gds, "gds");
  return text.take();
}

void cache_bits(Text& text, const Inst& inst) {
  text.modifier_if(inst.flags & inst_glc, "glc");
  text.modifier_if(inst.flags & inst_slc, "slc");
  text.modifier_if(inst.flags & inst_scc, "scc");
}

std::string disassemble_flat(const Inst& inst) {
  const OpInfo& op = *inst.op;
  Text text(op);
  if (inst.dst != op_none) {
    text.operand(inst.dst, op.dst);
  }
  const bool global_base = op.format == Format::global && inst.soffset != op_none;
  text.operand(inst.src[0], global_base ? Type::b32 : op.src[0]);
  if (inst.src[1] != op_none) {
    text.operand(inst.src[1], op.src[1]);
  }
  if (op.format != Format::flat) {
    text.operand(inst.soffset, global_base ? Type::b64 : Type::b32);
  }
  if (inst.imm != 0) {
    text.modifier(fmt::format("offset:{}", inst.imm));
  }
  cache_bits(text, inst);
  text.modifier_if(inst.flags & inst_lds, "lds");
  return text.take();
}

std::string buffer_format(const Inst& inst) {
  static constexpr const char* kData[] = {
      "INVALID",     "8",        "16",          "8_8",        "32",      "16_16",
      "10_11_11",    "11_11_10", "10_10_10_2",  "2_10_10_10", "8_8_8_8", "32_32",
      "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15"};
  static constexpr const char* kNumber[] = {"UNORM", "SNORM", "USCALED",    "SSCALED",
                                            "UINT",  "SINT",  "RESERVED_6", "FLOAT"};
  const u32 data = inst.ext & 15, number = inst.ext >> 4;
  const std::string data_name = fmt::format("BUF_DATA_FORMAT_{}", kData[data]);
  const std::string number_name = fmt::format("BUF_NUM_FORMAT_{}", kNumber[number]);
  if (data == 1 && number == 0) {  // the default
    return "";
  }
  if (number == 0) {
    return fmt::format("format:[{}]", data_name);
  }
  if (data == 1) {
    return fmt::format("format:[{}]", number_name);
  }
  return fmt::format("format:[{},{}]", data_name, number_name);
}

std::string disassemble_buffer(const Inst& inst) {
  const OpInfo& op = *inst.op;
  Text text(op);
  if (op.has(trait::cache_op)) {
    return text.take();
  }
  const bool store = inst.src[1] != op_none;
  if (store || inst.dst != op_none) {
    text.operand(store ? inst.src[1] : inst.dst, store ? op.src[1] : op.dst);
  }
  const bool both = (inst.flags & inst_offen) && (inst.flags & inst_idxen);
  if (!op.has(trait::lds_only)) {
    text.operand(inst.src[0], both ? Type::b64 : Type::b32);
  }
  text.operand(inst.srsrc, Type::b128);
  text.operand(inst.soffset, Type::b32);
  if (op.format == Format::mtbuf) {
    const std::string format = buffer_format(inst);
    if (!format.empty()) {
      text.modifier(format);
    }
  }
  text.modifier_if(inst.flags & inst_idxen, "idxen");
  text.modifier_if(inst.flags & inst_offen, "offen");
  if (inst.imm != 0) {
    text.modifier(fmt::format("offset:{}", inst.imm));
  }
  text.modifier_if(op.has(trait::lds_only), "lds");
  cache_bits(text, inst);
  text.modifier_if((inst.flags & inst_tfe) && !op.has(trait::atomic), "tfe");
  text.modifier_if((inst.flags & inst_lds) && !op.has(trait::lds_only), "lds");
  return text.take();
}

}  // namespace

std::string disassemble_memory(const Inst& inst) {
  switch (inst.op->format) {
    case Format::smem: return disassemble_smem(inst);
    case Format::ds: return disassemble_ds(inst);
    case Format::flat:
    case Format::global:
    case Format::scratch: return disassemble_flat(inst);
    default: return disassemble_buffer(inst);
  }
}

}  // namespace vgpu::isa
