// Registers selected at run time: scalar moves relative to M0, and the mode in which M0 relocates
// the vector registers of all VALU instructions (s_set_gpr_idx_*).
//
// The compiler brackets one or two v_mov by s_set_gpr_idx_on and s_set_gpr_idx_off. So that other
// code pays nothing for it, s_set_gpr_idx_on itself runs what follows until the mode ends.
#include "isa/exec/control.h"
#include "isa/exec/float_mode.h"
#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// The register `code` moved by M0. An SGPR index beyond the file reads and writes SGPR 0.
template <class T>
u16 relative(const Wave& wave, u16 code) {
  const u32 moved = code + wave.s[op_m0];
  return moved + sizeof(T) / 4 <= 102 ? static_cast<u16>(moved) : 0;
}

template <class T>
void move_relative_source(Wave& wave, const Inst& inst) {
  set_destination<T>(wave, inst.dst, source<T>(wave, inst, relative<T>(wave, inst.src[0])));
}

template <class T>
void move_relative_destination(Wave& wave, const Inst& inst) {
  set_destination<T>(wave, relative<T>(wave, inst.dst), source<T>(wave, inst, inst.src[0]));
}

// Which operands M0 relocates: M0[15:12].
enum IndexedOperand : u32 { index_src0 = 1, index_src1 = 2, index_src2 = 4, index_dst = 8 };

bool is_vector_arithmetic(Format format) {
  return format == Format::vop1 || format == Format::vop2 || format == Format::vopc ||
         format == Format::vop3 || format == Format::vop3p;
}

// The lane accesses name one lane of a register and are not relocated.
bool is_lane_access(Op op) {
  return op == Op::v_readlane_b32 || op == Op::v_writelane_b32 || op == Op::v_readfirstlane_b32;
}

void relocate(u16& code, u32 index) {
  if (is_vector(code)) {
    code = static_cast<u16>(code + index);
  }
}

void run_relocated(Wave& wave, const Inst& inst) {
  Inst moved = inst;
  const u32 index = wave.s[op_m0] & 0xff;
  const u32 which = wave.s[op_m0] >> 12;
  for (u32 i = 0; i < 3; ++i) {
    if (which & index_src0 << i) {
      relocate(moved.src[i], index);
    }
  }
  if (which & index_dst) {
    relocate(moved.dst, index);
  }
  moved.exec(wave, moved);
  if (wave.stop != Stop::none) {
    wave.fault.pc = wave.pc_of(inst);  // the copy has no place in the code page
  }
}

void set_index(Wave& wave, u32 mask, u32 bits) {
  wave.s[op_m0] = (wave.s[op_m0] & ~mask) | (bits & mask);
}

void index_on(Wave& wave, const Inst& inst) {
  const u32 operands = static_cast<u32>(inst.imm) << 12;
  set_index(wave, 0xf0ff, (scalar32(wave, inst, inst.src[0]) & 0xff) | operands);
  wave.mode |= mode_gpr_idx_en;
  wave.retired += run_indexed(wave, kAttentionInterval);
  if (wave.mode & mode_gpr_idx_en && wave.stop == Stop::none) {
    wave.stop_with(Stop::yield);  // a long section goes on in Engine::run
  }
}

void index_off(Wave& wave, const Inst&) { wave.mode &= ~u32{mode_gpr_idx_en}; }

void index_operands(Wave& wave, const Inst& inst) {
  set_index(wave, 0xf000, static_cast<u32>(inst.imm) << 12);
}

void index_value(Wave& wave, const Inst& inst) {
  set_index(wave, 0xff, scalar32(wave, inst, inst.src[0]));
}

}  // namespace

u64 run_indexed(Wave& wave, u64 limit) {
  u64 done = 0;
  while (done < limit && wave.stop == Stop::none && wave.mode & mode_gpr_idx_en) {
    const Inst& inst = *wave.ip;
    wave.ip += inst.len;
    if (inst.op && is_vector_arithmetic(inst.op->format) && !is_lane_access(inst.op->op)) {
      run_relocated(wave, inst);
    } else {
      inst.exec(wave, inst);
    }
    ++done;
  }
  return done;
}

Handler select_register_move(Op op) {
  switch (op) {
    case Op::s_movrels_b32: return move_relative_source<u32>;
    case Op::s_movrels_b64: return move_relative_source<u64>;
    case Op::s_movreld_b32: return move_relative_destination<u32>;
    case Op::s_movreld_b64: return move_relative_destination<u64>;
    case Op::s_set_gpr_idx_on: return index_on;
    case Op::s_set_gpr_idx_off: return index_off;
    case Op::s_set_gpr_idx_mode: return index_operands;
    case Op::s_set_gpr_idx_idx: return index_value;
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
