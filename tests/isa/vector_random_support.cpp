// Random operands and instructions.
#include <algorithm>

#include "isa/vector_harness_support.h"

namespace vgpu::isa::test {

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

// ---- instructions ----

namespace {

constexpr u16 vgpr(int n) { return static_cast<u16>(op_vgpr0 + n); }

// Where operands are put. Far enough apart for four registers each.
constexpr int kSource[3] = {8, 16, 24};
constexpr int kDestination = 40;
constexpr u16 kSourceSgpr = 20;
constexpr u16 kMaskSgpr = 30;

bool modifiable(const OpInfo& op, int i) {
  const bool mask = i == 2 && op.has(trait::carry_in);
  return is_float(op.src[i]) || (op.has(trait::fp_mods) && op.src[i] != Type::none && !mask);
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

}  // namespace vgpu::isa::test
