// Registers, constants and immediates as text.
#include <fmt/format.h>

#include <bit>

#include "isa/disasm.h"
#include "isa/disasm_operands.h"

namespace vgpu::isa {
namespace {

std::string tuple(const char* prefix, u32 first, int count) {
  if (count == 1) {
    return fmt::format("{}{}", prefix, first);
  }
  return fmt::format("{}[{}:{}]", prefix, first, first + static_cast<u32>(count) - 1);
}

std::string half_of(const char* name, u32 which, int count) {
  if (count == 2) {
    return name;
  }
  return fmt::format("{}_{}", name, which == 0 ? "lo" : "hi");
}

std::string scalar_name(u32 code, int count) {
  if (code < op_flat_scratch) {
    return tuple("s", code, count);
  }
  if (code >= op_ttmp0 && code < op_m0) {
    return tuple("ttmp", code - op_ttmp0, count);
  }
  switch (code & ~1u) {
    case op_flat_scratch: return half_of("flat_scratch", code & 1, count);
    case op_xnack_mask: return half_of("xnack_mask", code & 1, count);
    case op_vcc: return half_of("vcc", code & 1, count);
    case op_exec: return half_of("exec", code & 1, count);
    default: return "m0";
  }
}

bool is_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::f16 ||
         type == Type::f16x2 || type == Type::i16x2;
}

bool is_integer_half(Type type) {
  return type == Type::b16 || type == Type::i16 || type == Type::u16 || type == Type::i16x2;
}

// The inline constants from op_float0 on.
constexpr const char* kFloatNames[] = {"0.5",  "-0.5", "1.0",  "-1.0",      "2.0",
                                       "-2.0", "4.0",  "-4.0", "0.15915494"};
constexpr u16 kHalves[] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
constexpr u32 kSingles[] = {0x3f000000, 0xbf000000, 0x3f800000, 0xbf800000, 0x40000000,
                            0xc0000000, 0x40800000, 0xc0800000, 0x3e22f983};

std::string float_constant(u32 code, Type type) {
  const u32 index = code - op_float0;
  if (is_integer_half(type)) {  // LLVM shows the bits the integer operand gets
    return fmt::format("0x{:x}", kHalves[index]);
  }
  const bool pair = type == Type::f32x2 || type == Type::b32x2;
  const bool doubles = type == Type::f64x4 || (dwords(type) == 2 && !pair);
  return doubles && index == 8 ? "0.15915494309189532" : kFloatNames[index];
}

std::string named_source(u32 code) {
  switch (code) {
    case op_shared_base: return "src_shared_base";
    case op_shared_limit: return "src_shared_limit";
    case op_private_base: return "src_private_base";
    case op_private_limit: return "src_private_limit";
    case op_pops_exiting_wave_id: return "src_pops_exiting_wave_id";
    case op_vccz: return "src_vccz";
    case op_execz: return "src_execz";
    case op_scc: return "src_scc";
    default: return "src_lds_direct";
  }
}

// LLVM prints a literal that could have been an inline constant as that constant.
std::string literal_name(u32 value, Type type) {
  const i64 number = is_half(type)       ? static_cast<i16>(value)
                     : dwords(type) == 1 ? static_cast<i32>(value)
                                         : i64{value};
  if (number >= -16 && number <= 64) {
    return std::to_string(number);
  }
  for (size_t i = 0; i < std::size(kSingles); ++i) {
    const bool same = is_half(type) ? !is_integer_half(type) && (value & 0xffff) == kHalves[i]
                                    : dwords(type) == 1 && value == kSingles[i];
    if (same) {
      return kFloatNames[i];
    }
  }
  return fmt::format("0x{:x}", is_half(type) ? value & 0xffff : value);
}

}  // namespace

std::string operand_name(u16 code, Type type, u32 literal) {
  const int count = dwords(type);
  if (code == op_none) {
    return "off";
  }
  if (code >= op_acc0) {
    return tuple("a", code - op_acc0, count);
  }
  if (code >= op_vgpr0) {
    return tuple("v", code - op_vgpr0, count);
  }
  if (code == op_literal) {
    return literal_name(literal, type);
  }
  if (code < op_const0) {
    return scalar_name(code, count);
  }
  if (code <= 192) {
    return std::to_string(code - 128);
  }
  if (code <= 208) {
    return std::to_string(192 - code);
  }
  if (code >= op_float0 && code <= op_float0 + 8) {
    return float_constant(code, type);
  }
  return named_source(code);
}

// ---- immediates of SOPK, SOPP and SOPC ----

namespace {

std::string hwreg_name(u32 simm16) {
  // Numbers of HW_REG_* on gfx9 ("CDNA2 ISA", 5.7).
  static constexpr const char* kNames[] = {nullptr,
                                           "HW_REG_MODE",
                                           "HW_REG_STATUS",
                                           "HW_REG_TRAPSTS",
                                           "HW_REG_HW_ID",
                                           "HW_REG_GPR_ALLOC",
                                           "HW_REG_LDS_ALLOC",
                                           "HW_REG_IB_STS",
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           nullptr,
                                           "HW_REG_SH_MEM_BASES",
                                           "HW_REG_TBA_LO",
                                           "HW_REG_TBA_HI",
                                           "HW_REG_TMA_LO",
                                           "HW_REG_TMA_HI"};
  const u32 id = simm16 & 63, offset = simm16 >> 6 & 31, size = (simm16 >> 11 & 31) + 1;
  const bool named = id < std::size(kNames) && kNames[id] != nullptr;
  const std::string name = named ? kNames[id] : std::to_string(id);
  if (offset == 0 && size == 32) {
    return fmt::format("hwreg({})", name);
  }
  return fmt::format("hwreg({}, {}, {})", name, offset, size);
}

std::string waitcnt_name(u32 simm16) {
  const u32 vm = (simm16 & 15) | (simm16 >> 14 & 3) << 4;
  const u32 exp = simm16 >> 4 & 7, lgkm = simm16 >> 8 & 15;
  const bool all_default = vm == 63 && exp == 7 && lgkm == 15;
  std::string text;
  const auto add = [&](const char* name, u32 value, u32 none) {
    if (value != none || all_default) {
      text += fmt::format("{}{}({})", text.empty() ? "" : " ", name, value);
    }
  };
  add("vmcnt", vm, 63);
  add("expcnt", exp, 7);
  add("lgkmcnt", lgkm, 15);
  return text;
}

// A message LLVM has no name for. Bits outside the three fields make it a plain number.
std::string unnamed_message(u32 simm16) {
  if (simm16 & ~0x37fu) {
    return std::to_string(simm16);
  }
  return fmt::format("sendmsg({}, {}, {})", simm16 & 15, simm16 >> 4 & 7, simm16 >> 8 & 3);
}

std::string gs_message(u32 simm16, u32 id, u32 operation, u32 stream) {
  static constexpr const char* kOperations[] = {"GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT",
                                                "GS_OP_EMIT_CUT"};
  const char* name = id == 2 ? "MSG_GS" : "MSG_GS_DONE";
  if (operation > 3 || (operation == 0 && (id == 2 || stream != 0))) {
    return unnamed_message(simm16);
  }
  if (operation == 0) {
    return fmt::format("sendmsg({}, {})", name, kOperations[operation]);
  }
  return fmt::format("sendmsg({}, {}, {})", name, kOperations[operation], stream);
}

std::string message_name(u32 simm16) {
  static constexpr const char* kNames[] = {nullptr,
                                           "MSG_INTERRUPT",
                                           nullptr,
                                           nullptr,
                                           "MSG_SAVEWAVE",
                                           "MSG_STALL_WAVE_GEN",
                                           "MSG_HALT_WAVES",
                                           "MSG_ORDERED_PS_DONE",
                                           "MSG_EARLY_PRIM_DEALLOC",
                                           "MSG_GS_ALLOC_REQ",
                                           "MSG_GET_DOORBELL"};
  static constexpr const char* kSystem[] = {nullptr, "SYSMSG_OP_ECC_ERR_INTERRUPT",
                                            "SYSMSG_OP_REG_RD", "SYSMSG_OP_HOST_TRAP_ACK",
                                            "SYSMSG_OP_TTRACE_PC"};
  const u32 id = simm16 & 15, operation = simm16 >> 4 & 7, stream = simm16 >> 8 & 3;
  if (id == 2 || id == 3) {
    return gs_message(simm16, id, operation, stream);
  }
  if (id == 15 && operation >= 1 && operation <= 4 && stream == 0) {
    return fmt::format("sendmsg(MSG_SYSMSG, {})", kSystem[operation]);
  }
  if (id < std::size(kNames) && kNames[id] != nullptr && operation == 0 && stream == 0) {
    return fmt::format("sendmsg({})", kNames[id]);
  }
  return unnamed_message(simm16);
}

std::string gpr_idx_name(u32 value) {
  static constexpr const char* kNames[] = {"SRC0", "SRC1", "SRC2", "DST"};
  if (value > 15) {
    return fmt::format("0x{:x}", value);
  }
  std::string list;
  for (int i = 0; i < 4; ++i) {
    if (value >> i & 1) {
      list += list.empty() ? "" : ",";
      list += kNames[i];
    }
  }
  return fmt::format("gpr_idx({})", list);
}

}  // namespace

std::string immediate_name(const Inst& inst, Type type) {
  const u32 simm16 = static_cast<u32>(inst.imm) & 0xffff;
  switch (type) {
    case Type::branch: return std::to_string(simm16);
    case Type::waitcnt: return waitcnt_name(simm16);
    case Type::hwreg: return hwreg_name(simm16);
    case Type::message: return message_name(simm16);
    case Type::gpr_idx: return gpr_idx_name(simm16);
    default: break;
  }
  if (inst.op->format == Format::sopk) {
    return fmt::format("0x{:x}", simm16);
  }
  return simm16 <= 64 || inst.op->op == Op::s_endpgm ? std::to_string(simm16)
                                                     : fmt::format("0x{:x}", simm16);
}

namespace {

// What each bit of the lane number becomes: 0, 1, preserved or inverted.
std::string lane_bit_pattern(u32 and_mask, u32 or_mask, u32 xor_mask) {
  const u32 from_zeros = or_mask ^ xor_mask;
  const u32 from_ones = (and_mask | or_mask) ^ xor_mask;
  std::string pattern;
  for (int i = 4; i >= 0; --i) {
    const u32 zero = from_zeros >> i & 1, one = from_ones >> i & 1;
    pattern += zero == one ? (zero != 0 ? '1' : '0') : (zero != 0 ? 'i' : 'p');
  }
  return pattern;
}

}  // namespace

std::string swizzle_name(u32 offset) {
  if ((offset & 0xff00) == 0x8000) {
    return fmt::format("swizzle(QUAD_PERM,{},{},{},{})", offset & 3, offset >> 2 & 3,
                       offset >> 4 & 3, offset >> 6 & 3);
  }
  if (offset & 0x8000) {
    return std::to_string(offset);
  }
  const u32 and_mask = offset & 31, or_mask = offset >> 5 & 31, xor_mask = offset >> 10 & 31;
  if (and_mask == 31 && or_mask == 0 && std::has_single_bit(xor_mask)) {
    return fmt::format("swizzle(SWAP,{})", xor_mask);
  }
  if (and_mask == 31 && or_mask == 0 && xor_mask != 0 && std::has_single_bit(xor_mask + 1)) {
    return fmt::format("swizzle(REVERSE,{})", xor_mask + 1);
  }
  const u32 group = 32 - and_mask;
  if (group > 1 && std::has_single_bit(group) && or_mask < group && xor_mask == 0) {
    return fmt::format("swizzle(BROADCAST,{},{})", group, or_mask);
  }
  return fmt::format("swizzle(BITMASK_PERM,\"{}\")", lane_bit_pattern(and_mask, or_mask, xor_mask));
}

}  // namespace vgpu::isa
