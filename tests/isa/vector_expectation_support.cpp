// What an instruction must do to the registers.
#include <algorithm>
#include <cstring>

#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {

int register_sources(const OpInfo& op) {
  int count = 0;
  while (count < 3 && op.src[count] != Type::none && !(count == 2 && op.has(trait::carry_in))) {
    ++count;
  }
  return count;
}

bool accumulates(const OpInfo& op) {
  return op.has(trait::accumulate) || op.op == Op::v_cvt_pkaccum_u8_f32;
}

u64 scalar_operand(const Registers& registers, const Inst& inst, u16 code, Type type) {
  const bool wide = dwords(type) == 2;
  if (code < 128) {
    return wide ? registers.pair(code) : registers.s[code];
  }
  if (code == op_literal) {
    const u32 literal = static_cast<u32>(inst.imm);
    if (type == Type::f64)
      return u64{literal} << 32;
    if (type == Type::i64)
      return static_cast<u64>(i64{inst.imm});
    return literal;
  }
  if (code <= 192) {
    return code - 128u;
  }
  if (code <= 208) {
    const u64 negative = static_cast<u64>(192 - i64{code});
    return wide ? negative : static_cast<u32>(negative);
  }
  static constexpr double kValues[] = {0.5, -0.5, 1, -1, 2, -2, 4, -4};
  const int index = code - op_float0;
  if (type == Type::f16 || type == Type::f16x2) {
    return index == 8 ? 0x3118 : round_to_half(kValues[index], 0, true);
  }
  if (wide) {
    return index == 8 ? 0x3fc45f306dc9c882 : bits_of(kValues[index]);
  }
  return index == 8 ? 0x3e22f983 : bits_of(static_cast<float>(kValues[index]));
}

int dpp_source(u32 control, int lane) {
  const int row = lane / 16 * 16, column = lane % 16, n = static_cast<int>(control % 16);
  if (control < 0x100)
    return lane / 4 * 4 + static_cast<int>(control >> lane % 4 * 2 & 3);
  if (control < 0x110)
    return column + n > 15 ? -1 : lane + n;
  if (control < 0x120)
    return column < n ? -1 : lane - n;
  if (control < 0x130)
    return row + (column + 16 - n) % 16;
  switch (control) {
    case 0x130: return lane == 63 ? -1 : lane + 1;
    case 0x134: return (lane + 1) % 64;
    case 0x138: return lane - 1;
    case 0x13c: return (lane + 63) % 64;
    case 0x140: return row + 15 - column;
    case 0x141: return lane / 8 * 8 + 7 - lane % 8;
    case 0x142: return row - 1;
    case 0x143: return lane < 32 ? -1 : 31;
    default: return row + n;  // 0x150: row_newbcast
  }
}

namespace {

bool is_half(Type type) {
  return type == Type::f16 || type == Type::i16 || type == Type::u16 || type == Type::b16;
}

u64 type_sign(Type type) {
  return dwords(type) == 2 ? u64{1} << 63 : type == Type::f16 ? 0x8000 : u64{0x80000000};
}

struct Part {
  int shift, width;
};
Part sdwa_part(u32 select) {
  return select < 4    ? Part{static_cast<int>(select) * 8, 8}
         : select == 4 ? Part{0, 16}
         : select == 5 ? Part{16, 16}
                       : Part{0, 32};
}

u32 sdwa_read(u32 word, u32 fields) {
  const Part part = sdwa_part(fields & 7);
  const u64 mask = (u64{1} << part.width) - 1;
  u64 value = word >> part.shift & mask;
  if ((fields & 8) && value >> (part.width - 1))
    value |= ~mask;
  return static_cast<u32>(value);
}

u32 sdwa_write(u32 ext, u32 old, u32 value) {
  const Part part = sdwa_part(ext >> 8 & 7);
  const u64 mask = ((u64{1} << part.width) - 1) << part.shift;
  const u64 placed = u64{value} << part.shift & mask;
  const bool negative = placed >> (part.shift + part.width - 1) & 1;
  switch (ext >> 11 & 3) {
    case 0: return static_cast<u32>(placed);
    case 1:
      return static_cast<u32>(negative ? placed | ~u64{0} << (part.shift + part.width) : placed);
    default: return static_cast<u32>((old & ~mask) | placed);
  }
}

u64 read_source(const Inst& inst, Registers& before, int i, int lane) {
  const OpInfo& op = *inst.op;
  const u16 code = inst.src[i];
  const Type type = op.src[i];
  u64 bits = 0;
  int from = lane;
  if (i == 0 && (inst.flags & inst_dpp)) {
    from = dpp_source(inst.ext >> 8 & 511, lane);
    if (from < 0 || !(before.exec() >> from & 1))
      from = -1;
  }
  if (code < op_vgpr0) {
    bits = scalar_operand(before, inst, code, type);
  } else if (from >= 0) {
    bits = before.lane(code, from);
    if (dwords(type) == 2)
      bits |= u64{before.lane(static_cast<u16>(code + 1), from)} << 32;
  }
  if (inst.flags & inst_sdwa) {
    bits = sdwa_read(static_cast<u32>(bits), inst.ext >> (16 + 8 * i));
  }
  if (op.format == Format::vop3 && (inst.opsel >> i & 1) && is_half(type)) {
    bits = bits >> 16 & 0xffff;
  }
  if (inst.abs >> i & 1)
    bits &= ~type_sign(type);
  if (inst.neg >> i & 1)
    bits ^= type_sign(type);
  return bits;
}

template <class T>
T output_modified(const Inst& inst, const FloatRules& rules, T value, bool keep_denormals) {
  if (inst.omod && !rules.ieee && !keep_denormals) {
    value *= inst.omod == 1 ? T(2) : inst.omod == 2 ? T(4) : T(0.5);
  }
  if (inst.flags & inst_clamp) {
    if (std::isnan(value))
      return rules.dx10_clamp ? T(0) : value;
    value = value > 0 ? std::min(value, T(1)) : T(0);
  }
  return value;
}

u64 modified_result(const Inst& inst, const FloatRules& rules, const LaneResult& result) {
  switch (inst.op->dst) {
    case Type::f32: {
      const float value = rounded(rules.round32, [&] {
        return output_modified(inst, rules, as_float(result.value), rules.out32);
      });
      return rules.out32 || !inst.omod ? bits_of(value) : flush32(bits_of(value));
    }
    case Type::f64: {
      const double value = rounded(rules.round64, [&] {
        return output_modified(inst, rules, as_double(result.value), rules.out64);
      });
      return rules.out64 || !inst.omod ? bits_of(value) : flush64(bits_of(value));
    }
    case Type::f16:
      return round_to_half(output_modified(inst, rules, result.exact, rules.out64), rules.round64,
                           rules.out64);
    default: return result.value;
  }
}

bool is_nan(Type type, u64 bits) {
  switch (type) {
    case Type::f16: return is_nan16(static_cast<u32>(bits));
    case Type::f32: return is_nan32(static_cast<u32>(bits));
    case Type::f64: return is_nan64(bits);
    default: return false;
  }
}

void write_lane(const Inst& inst, Registers& after, int lane, u64 value) {
  u32& word = after.lane(inst.dst, lane);
  const u32 low = static_cast<u32>(value);
  if (dwords(inst.op->dst) == 2) {
    word = low;
    after.lane(static_cast<u16>(inst.dst + 1), lane) = static_cast<u32>(value >> 32);
  } else if (inst.flags & inst_sdwa) {
    word = sdwa_write(inst.ext, word, low);
  } else if (!is_half(inst.op->dst)) {
    word = low;
  } else if (inst.opsel & 8) {
    word = (word & 0xffff) | low << 16;
  } else if (inst.op->has(trait::op_sel)) {
    word = (word & 0xffff0000) | (low & 0xffff);  // instructions with op_sel keep the other half
  } else {
    word = low & 0xffff;
  }
}

bool dpp_writes(const Inst& inst, const Registers& before, int lane) {
  if (!(inst.flags & inst_dpp))
    return true;
  const bool row = inst.ext >> (28 + lane / 16) & 1, bank = inst.ext >> (24 + lane % 16 / 4) & 1;
  const int from = dpp_source(inst.ext >> 8 & 511, lane);
  const bool readable = from >= 0 && (before.exec() >> from & 1);
  return row && bank && (readable || (inst.ext >> 19 & 1));
}

}  // namespace

std::unique_ptr<Expectation> expected_registers(const Inst& inst, const Registers& given,
                                                u32 mode) {
  const OpInfo& op = *inst.op;
  const FloatRules rules(mode);
  const Reference reference = reference_of(op.op);
  auto before = std::make_unique<Registers>(given);
  auto expectation = std::make_unique<Expectation>(given);
  expectation->flushes = op.dst == Type::f32 ? !rules.out32 : !rules.out64;
  Registers* after = &expectation->registers;
  const int sources = register_sources(op);
  const bool compares = std::strncmp(op.name, "v_cmp", 5) == 0;
  const u64 mask_in = op.has(trait::carry_in) ? before->pair(inst.src[2]) : before->pair(op_vcc);
  u64 flags = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(before->exec() >> lane & 1) || !dpp_writes(inst, *before, lane)) {
      continue;
    }
    LaneInputs in{.op = op,
                  .mask = (mask_in >> lane & 1) != 0,
                  .clamp = (inst.flags & inst_clamp) != 0,
                  .rules = rules};
    for (int i = 0; i < sources; ++i) in.source[i] = read_source(inst, *before, i, lane);
    if (accumulates(op)) {
      in.source[2] = before->lane(inst.dst, lane);
      if (dwords(op.dst) == 2)
        in.source[2] |= u64{before->lane(static_cast<u16>(inst.dst + 1), lane)} << 32;
    }
    const LaneResult result = reference(in);
    flags |= u64{result.flag} << lane;
    if (!compares) {
      const u64 value = modified_result(inst, rules, result);
      expectation->nan_lanes |= u64{is_nan(op.dst, value)} << lane;
      write_lane(inst, *after, lane, value);
    }
  }
  if (compares || op.has(trait::carry_out))
    after->set_pair(inst.sdst, flags);
  if (std::strncmp(op.name, "v_cmpx", 6) == 0)
    after->set_pair(op_exec, flags);
  return expectation;
}

}  // namespace vgpu::isa::test
