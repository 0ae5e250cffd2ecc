#include "isa/vector_harness_support.h"

#include <immintrin.h>

#include <algorithm>
#include <cstring>

namespace vgpu::isa::test {
namespace {

constexpr u16 vgpr(int n) { return static_cast<u16>(op_vgpr0 + n); }

// Where operands are put. Far enough apart for four registers each.
constexpr int kSource[3] = {8, 16, 24};
constexpr int kDestination = 40;
constexpr u16 kSourceSgpr = 20;
constexpr u16 kMaskSgpr = 30;

}  // namespace

bool is_vector_alu(const OpInfo& op) {
  switch (op.format) {
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3p: return true;
    default: return false;
  }
}

// ---- random values ----

u32 Random::half_bits() {
  switch (below(4)) {
    case 0:
      return pick<u32>({0, 0x8000, 0x3c00, 0xbc00, 0x7c00, 0xfc00, 0x7e00, 0x7d01, 0xfe55, 0x0001,
                        0x83ff, 0x0400, 0x7bff, 0xfbff, 0x3800, 0x3555});
    case 1: return static_cast<u32>(bits() & 0x83ff);                             // denormal
    case 2: return static_cast<u32>((bits() & 0x83ff) | (10 + below(10)) << 10);  // near 1
    default: return static_cast<u32>(bits() & 0xffff);
  }
}

u32 Random::float_bits() {
  switch (below(5)) {
    case 0:
      return pick<u32>({0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000,
                        0xff800000, 0x7fc00000, 0x7f800001, 0xffc12345, 1,
                        0x807fffff, 0x00800000, 0x7f7fffff, 0xff7fffff, 0x3f000000,
                        0x4b000001, 0x4f000000, 0xcf000000, 0x4f800000, 0x3effffff});
    case 1: return static_cast<u32>(bits() & 0x807fffff);                              // denormal
    case 2: return static_cast<u32>((bits() & 0x807fffff) | (117 + below(20)) << 23);  // near 1
    case 3:
      return static_cast<u32>((bits() & 0x807fffff) | pick<u32>({1, 2, 24, 230, 250, 253, 254})
                                                          << 23);
    default: return static_cast<u32>(bits());
  }
}

u64 Random::double_bits() {
  const u64 keep = 0x800fffffffffffff;
  switch (below(5)) {
    case 0:
      return pick<u64>({0, u64{1} << 63, 0x3ff0000000000000, 0xbff0000000000000, 0x7ff0000000000000,
                        0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001, 1,
                        0x0010000000000000, 0x7fefffffffffffff, 0x41dfffffffc00000,
                        0xc1e0000000000000, 0x41efffffffe00000});
    case 1: return bits() & keep;
    case 2: return (bits() & keep) | u64{1013 + below(20)} << 52;
    case 3: return (bits() & keep) | u64{pick<u32>({1, 2, 54, 1900, 2040, 2046, 890})} << 52;
    default: return bits();
  }
}

u64 Random::operand(Type type) {
  switch (type) {
    case Type::f32: return float_bits();
    case Type::f64: return double_bits();
    case Type::f16: return half_bits() | bits() << 16;
    case Type::f16x2: return half_bits() | u64{half_bits()} << 16;
    case Type::f32x2: return float_bits() | u64{float_bits()} << 32;
    default: break;
  }
  switch (below(4)) {
    case 0:
      return pick<u64>({0, 1, ~u64{0}, 0x80000000, 0x7fffffff, 0x8000, 0x7fff, 0xffff, 0x800000,
                        0xffffffff, u64{1} << 63, ~(u64{1} << 63), 31, 32, 63, 0xff80});
    case 1: return below(70);
    default: return bits();
  }
}

u64 Random::exec_mask() {
  switch (below(6)) {
    case 0:
    case 1: return ~u64{0};
    case 2: return 0;
    case 3: return u64{1} << below(64);
    default: return bits();
  }
}

u32 Random::mode() { return chance(3) ? 0x3f0 : below(0x400); }

// ---- running ----

Registers run_instruction(const Engine& engine, Inst inst, const Registers& before, u32 mode) {
  auto after = std::make_unique<Registers>(before);
  const auto wave = std::make_unique<Wave>();
  wave->v = after->v.data();
  wave->acc = after->acc.data();
  wave->nv = wave->nacc = kTestVgprs;
  wave->mode = mode;
  std::copy(before.s.begin(), before.s.end(), wave->s);
  inst.exec = engine.handler(inst);
  EXPECT_NE(inst.exec, nullptr) << inst.op->name;
  if (!inst.exec) {
    return *after;
  }
  const u32 host = _mm_getcsr();
  static constexpr u32 kRound[] = {0, 0x4000, 0x2000, 0x6000};
  const u32 wanted =
      0x1f80 | kRound[mode & 3] | (mode & 0x10 ? 0 : 0x40) | (mode & 0x20 ? 0 : 0x8000);
  _mm_setcsr(wanted);
  inst.exec(*wave, inst);
  const u32 left = _mm_getcsr() & ~0x3fu;
  _mm_setcsr(host);
  EXPECT_EQ(left, wanted) << inst.op->name << " leaves another floating-point mode";
  std::copy(wave->s, wave->s + 128, after->s.begin());
  return *after;
}

// ---- operands ----

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

bool modifiable(const OpInfo& op, int i) {
  const bool mask = i == 2 && op.has(trait::carry_in);
  return is_float(op.src[i]) || (op.has(trait::fp_mods) && op.src[i] != Type::none && !mask);
}

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

bool is_wide_op(const OpInfo& op) {
  return dwords(op.src[0]) == 2 || dwords(op.src[1]) == 2 ||
         (op.format != Format::vopc && dwords(op.dst) == 2);
}

u16 random_scalar(Random& random, Inst& inst, Type type, bool literal_allowed) {
  switch (random.below(literal_allowed ? 4 : 3)) {
    case 0: return static_cast<u16>(128 + random.below(81));
    case 1: return static_cast<u16>(op_float0 + random.below(9));
    case 2: return kSourceSgpr;
    default: inst.imm = static_cast<i32>(random.operand(type)); return op_literal;
  }
}

void add_sdwa(Random& random, Inst& inst) {
  const OpInfo& op = *inst.op;
  u32 ext = random.below(7) << 8 | random.below(3) << 11;
  for (int i = 0; i < 2; ++i) {
    ext |= random.below(7) << (16 + 8 * i);
    if (!modifiable(op, i) && random.chance(2))
      ext |= 8u << (16 + 8 * i);
  }
  inst.flags |= inst_sdwa;
  inst.ext = ext;
  if (op.format != Format::vopc && random.chance(3))
    inst.flags |= inst_clamp;
  if (op.format != Format::vopc && is_float(op.dst))
    inst.omod = static_cast<u8>(random.below(4));
  if (op.format == Format::vopc)
    inst.sdst = inst.dst = kMaskSgpr;
}

void add_dpp(Random& random, Inst& inst, bool only_newbcast) {
  static constexpr u32 kOther[] = {0x130, 0x134, 0x138, 0x13c, 0x140, 0x141, 0x142, 0x143};
  u32 control = 0x150 + random.below(16);
  if (!only_newbcast) {
    switch (random.below(4)) {
      case 0: control = random.below(256); break;
      case 1: control = 0x100 + random.below(3) * 16 + 1 + random.below(15); break;
      case 2: control = kOther[random.below(8)]; break;
      default: break;
    }
  }
  const u32 masks = random.chance(2) ? 0xff : random.below(256);
  inst.flags |= inst_dpp;
  inst.ext = control << 8 | random.below(2) << 19 | masks << 24;
}

void add_signs(Random& random, Inst& inst) {
  for (int i = 0; i < 3; ++i) {
    if (modifiable(*inst.op, i) && !(accumulates(*inst.op) && i == 2)) {
      inst.neg = static_cast<u8>(inst.neg | random.below(2) << i);
      inst.abs = static_cast<u8>(inst.abs | random.below(2) << i);
    }
  }
}

void add_vop3(Random& random, Inst& inst) {
  const OpInfo& op = *inst.op;
  if (random.chance(2)) {
    add_signs(random, inst);
    // VOP3B has no abs: its bits hold the second destination.
    if (op.has(trait::carry_out))
      inst.abs = 0;
  }
  if (op.has(trait::clamp) && random.chance(3))
    inst.flags |= inst_clamp;
  if (op.has(trait::omod) && is_float(op.dst) && random.chance(3)) {
    inst.omod = static_cast<u8>(random.below(4));
  }
  if (op.has(trait::op_sel)) {
    for (int i = 0; i < 3; ++i) {
      if (op.src[i] != Type::none && dwords(op.src[i]) == 1) {
        inst.opsel = static_cast<u8>(inst.opsel | random.below(2) << i);
      }
    }
    const bool half_result = op.dst == Type::f16 || op.dst == Type::i16 || op.dst == Type::u16;
    if (half_result)
      inst.opsel = static_cast<u8>(inst.opsel | random.below(2) << 3);
  }
}

// v_div_scale works on repeated operands.
void repeat_operand(Random& random, Inst& inst, Registers& registers) {
  const u16 original = vgpr(kSource[1 + random.below(2)]);
  for (int i = 0; i < 3; ++i) inst.src[i] = vgpr(kSource[i]);
  for (int word = 0; word < 2; ++word) {
    for (int lane = 0; lane < kLanes; ++lane) {
      registers.lane(static_cast<u16>(inst.src[0] + word), lane) =
          registers.lane(static_cast<u16>(original + word), lane);
    }
  }
}

}  // namespace

Inst random_instruction(const OpInfo& op, Random& random, Registers& registers) {
  Inst inst;
  inst.op = &op;
  const int sources = register_sources(op);
  for (u32& word : registers.s) word = static_cast<u32>(random.bits());
  for (u32& word : registers.v) word = static_cast<u32>(random.bits());
  registers.set_pair(op_exec, random.exec_mask());
  for (int i = 0; i < 3; ++i) {
    const Type type = i < sources ? op.src[i] : op.dst;
    for (int lane = 0; lane < kLanes; ++lane) {
      const u64 bits = random.operand(type);
      registers.lane(vgpr(kSource[i]), lane) = static_cast<u32>(bits);
      registers.lane(vgpr(kSource[i] + 1), lane) = static_cast<u32>(bits >> 32);
      const u64 old = random.operand(op.format == Format::vopc ? Type::b32 : op.dst);
      registers.lane(vgpr(kDestination), lane) = static_cast<u32>(old);
      registers.lane(vgpr(kDestination + 1), lane) = static_cast<u32>(old >> 32);
    }
    inst.src[i] = i < sources ? vgpr(kSource[i]) : u16{op_none};
  }
  registers.set_pair(kSourceSgpr, random.operand(op.src[0]));
  const bool short_form =
      op.format == Format::vop1 || op.format == Format::vop2 || op.format == Format::vopc;
  inst.dst =
      op.format == Format::vopc || (op.format == Format::vop3 && op.opcode < 0x100)
          ? u16{op_vcc}
          : vgpr(random.chance(4) ? kSource[random.below(3)] + static_cast<int>(random.below(2))
                                  : kDestination);
  if (inst.dst == op_vcc)
    inst.sdst = short_form ? u16{op_vcc} : kMaskSgpr;
  if (inst.dst == op_vcc)
    inst.dst = inst.sdst;
  if (op.has(trait::carry_out))
    inst.sdst = short_form ? u16{op_vcc} : kMaskSgpr;
  if (op.has(trait::carry_in))
    inst.src[2] = short_form || random.chance(2) ? u16{op_vcc} : kMaskSgpr;
  if (op.has(trait::acc_src))
    inst.src[0] = static_cast<u16>(inst.src[0] - op_vgpr0 + op_acc0);
  if (op.op == Op::v_accvgpr_mov_b32)
    inst.src[0] = static_cast<u16>(inst.src[0] - op_vgpr0 + op_acc0);
  if (op.has(trait::acc_dst) || op.op == Op::v_accvgpr_mov_b32)
    inst.dst = static_cast<u16>(op_acc0 + 40);
  if (op.has(trait::madmk | trait::madak)) {
    inst.imm = static_cast<i32>(random.operand(op.dst));
    inst.src[op.has(trait::madmk) ? 1 : 2] = op_literal;
    return inst;
  }
  if (op.has(trait::acc_src | trait::acc_dst) || op.op == Op::v_accvgpr_mov_b32) {
    return inst;
  }
  const u32 choice = random.below(4);
  if (short_form && choice == 0 && !op.has(trait::no_sdwa) && !is_wide_op(op)) {
    add_sdwa(random, inst);
    add_signs(random, inst);
    if (random.chance(4))
      inst.src[0] = kSourceSgpr;
  } else if (short_form && choice == 1 && !op.has(trait::no_dpp) && op.format != Format::vopc) {
    add_dpp(random, inst, is_wide_op(op));
    add_signs(random, inst);
  } else if (op.format == Format::vop3p) {
    if (random.chance(3))
      inst.flags |= inst_clamp;
  } else if (short_form) {
    if (choice == 2)
      inst.src[0] = random_scalar(random, inst, op.src[0], true);
  } else {
    for (int i = 0; i < sources; ++i) {
      if (random.chance(4))
        inst.src[i] = random_scalar(random, inst, op.src[i], false);
    }
    add_vop3(random, inst);
  }
  if (op.op == Op::v_div_scale_f32 || op.op == Op::v_div_scale_f64) {
    repeat_operand(random, inst, registers);
    inst.neg = 0;
  }
  return inst;
}

// ---- expectation ----

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

// ---- comparison ----

namespace {

bool close16(u32 a, u32 b, u32 ulps) {
  if (is_nan16(a) && is_nan16(b))
    return true;
  const auto key = [](u32 v) {
    return v & 0x8000 ? -static_cast<i32>(v & 0x7fff) : static_cast<i32>(v);
  };
  return a == b || (ulps && std::abs(key(a & 0xffff) - key(b & 0xffff)) <= static_cast<i32>(ulps));
}
bool close32(u32 a, u32 b, u32 ulps) {
  if (is_nan32(a) && is_nan32(b))
    return true;
  const auto key = [](u32 v) {
    return v >> 31 ? -static_cast<i64>(v & 0x7fffffff) : static_cast<i64>(v);
  };
  return a == b || (ulps && std::abs(key(a) - key(b)) <= static_cast<i64>(ulps));
}
bool close64(u64 a, u64 b, u32 ulps) {
  if (is_nan64(a) && is_nan64(b))
    return true;
  return a == b || (ulps && a >> 63 == b >> 63 && (a > b ? a - b : b - a) <= ulps);
}

// Where denormals are flushed and the exact result lies just below the smallest normal number, it
// depends on whether smallness is judged before or after rounding which of the two comes out. The
// manual does not say; both are right.
bool flushed_at_the_edge(Type type, u64 expected, u64 actual) {
  const u64 smallest = type == Type::f64 ? 0x0010000000000000 : 0x00800000;
  const u64 sign = type == Type::f64 ? u64{1} << 63 : 0x80000000;
  return (expected & ~sign) == smallest && actual == (expected & sign);
}

// Whether two results agree in the destination register of a lane.
bool agree(const Inst& inst, Registers& expected, Registers& actual, int lane, u32 ulps,
           bool flushes) {
  const u32 a = expected.lane(inst.dst, lane), b = actual.lane(inst.dst, lane);
  switch (inst.op->dst) {
    case Type::f32:
      if (inst.flags & inst_sdwa)
        return a == b;
      return close32(a, b, ulps) || (flushes && flushed_at_the_edge(Type::f32, a, b));
    case Type::f64: {
      const u16 high = static_cast<u16>(inst.dst + 1);
      const u64 wide_a = a | u64{expected.lane(high, lane)} << 32;
      const u64 wide_b = b | u64{actual.lane(high, lane)} << 32;
      return close64(wide_a, wide_b, ulps) ||
             (flushes && flushed_at_the_edge(Type::f64, wide_a, wide_b));
    }
    case Type::f16:
      if (inst.opsel & 8)
        return (a & 0xffff) == (b & 0xffff) && close16(a >> 16, b >> 16, ulps);
      return inst.flags & inst_sdwa ? a == b
                                    : a >> 16 == b >> 16 && close16(a & 0xffff, b & 0xffff, ulps);
    case Type::f32x2: {
      const u16 high = static_cast<u16>(inst.dst + 1);
      return close32(a, b, ulps) &&
             close32(expected.lane(high, lane), actual.lane(high, lane), ulps);
    }
    case Type::f16x2:
      return close16(a & 0xffff, b & 0xffff, ulps) && close16(a >> 16, b >> 16, ulps);
    case Type::b32:  // v_cvt_pkrtz, v_pack
      return a == b || (close16(a & 0xffff, b & 0xffff, 0) && close16(a >> 16, b >> 16, 0) &&
                        (inst.op->op == Op::v_cvt_pkrtz_f16_f32));
    default: return a == b;
  }
}

// A NaN or an approximate result is cut to pieces by SDWA: nothing to compare by.
bool comparable(const Inst& inst, u32 ulps, bool nan) {
  return !(inst.flags & inst_sdwa) || (ulps == 0 && !nan);
}

}  // namespace

testing::AssertionResult same_registers(const Inst& inst, const Expectation& expectation,
                                        const Registers& actual_in) {
  auto expected = std::make_unique<Registers>(expectation.registers);
  auto actual = std::make_unique<Registers>(actual_in);
  if (inst.dst >= op_vgpr0 && inst.dst != op_none) {
    // Hardware's reciprocals in double precision are only first guesses.
    const u32 ulps = !is_approximate(inst.op->op) ? 0 : inst.op->dst == Type::f64 ? 2 : 1;
    for (int lane = 0; lane < kLanes; ++lane) {
      const u32 a = expected->lane(inst.dst, lane), b = actual->lane(inst.dst, lane);
      if (comparable(inst, ulps, expectation.nan_lanes >> lane & 1) &&
          !agree(inst, *expected, *actual, lane, ulps, expectation.flushes)) {
        return testing::AssertionFailure() << std::hex << "lane " << std::dec << lane << std::hex
                                           << ": expected " << a << " got " << b;
      }
      for (int word = 0; word < std::max(dwords(inst.op->dst), 1); ++word) {
        const u16 code = static_cast<u16>(inst.dst + word);
        actual->lane(code, lane) = expected->lane(code, lane);
      }
    }
  }
  for (int code = 0; code < 128; ++code) {
    if (expected->s[code] != actual->s[code]) {
      return testing::AssertionFailure() << "scalar register " << code << std::hex << ": expected "
                                         << expected->s[code] << " got " << actual->s[code];
    }
  }
  if (expected->v != actual->v || expected->acc != actual->acc) {
    return testing::AssertionFailure() << "a register besides the destination changed";
  }
  return testing::AssertionSuccess();
}

std::string describe(const Inst& inst, const Registers& before_in, u32 mode, int lane) {
  auto before = std::make_unique<Registers>(before_in);
  char text[512];
  int used =
      std::snprintf(text, sizeof text,
                    "%s format %d dst %u src %u %u %u flags %x ext %08x neg %x abs %x omod %u "
                    "opsel %x/%x neg_hi %x imm %08x mode %03x exec %016llx lane %d:",
                    inst.op->name, static_cast<int>(inst.op->format), inst.dst, inst.src[0],
                    inst.src[1], inst.src[2], inst.flags, inst.ext, inst.neg, inst.abs, inst.omod,
                    inst.opsel, inst.opsel_hi, inst.neg_hi, static_cast<u32>(inst.imm), mode,
                    static_cast<unsigned long long>(before->exec()), lane);
  for (int i = 0; i < 3 && lane >= 0; ++i) {
    if (inst.src[i] >= op_vgpr0 && inst.src[i] != op_none) {
      used += std::snprintf(text + used, sizeof text - used, " %08x'%08x",
                            before->lane(static_cast<u16>(inst.src[i] + 1), lane),
                            before->lane(inst.src[i], lane));
    } else if (inst.src[i] < 127) {
      used += std::snprintf(text + used, sizeof text - used, " s:%08x'%08x",
                            before->s[inst.src[i] + 1], before->s[inst.src[i]]);
    }
  }
  return text;
}

}  // namespace vgpu::isa::test
