// The gfx9 compute instruction set as data: one row per opcode of each encoding, in
// isa/tables/*.def. Decoder, disassembler and executors all read these rows.
//
// Where decode() puts the fields of an instruction (Inst, inst.h):
//
//   SOP1      dst = sdst, src[0] = ssrc0
//   SOP2      dst = sdst, src[0..1]
//   SOPC      src[0..1]; s_set_gpr_idx_on has its second operand in imm (src[1] = op_none)
//   SOPK      dst = sdst, imm = simm16, sign-extended. Instructions that read sdst (trait
//             reads_sdst: s_cmpk, s_setreg, s_cbranch_i_fork) have it in src[0] and no dst.
//             s_setreg_imm32_b32: imm = simm16, ext = the 32-bit value.
//   SOPP      imm = simm16, sign-extended
//   SMEM      dst = sdata of loads and of atomics with glc; src[1] = sdata of stores and atomics;
//             src[0] = sbase; imm = 21-bit signed offset (flag inst_imm) and/or
//             soffset = scalar register (flag inst_soe). s_atc_probe: ext = the 7-bit sdata.
//   VOP1      dst, src[0]. v_readfirstlane: dst is a scalar code. v_swap: dst and src[0] VGPRs.
//   VOP2      dst, src[0..1]. Implicit VCC is made explicit: carry out in sdst, carry in (also
//             the selector of v_cndmask) in src[2], both op_vcc.
//             v_madmk: src[1] = op_literal, src[2] = vsrc1; v_madak: src[2] = op_literal.
//   VOPC      dst = sdst = the mask (op_vcc, or the sdst of SDWA), src[0..1]
//   VOP3      dst, src[0..2], neg, abs, omod, opsel (bits 0..2 sources, bit 3 destination);
//             sdst = the carry of VOP3B (trait carry_out). v_cmp: dst = sdst = the mask.
//             v_readlane: dst is a scalar code.
//   VOP3P     dst, src[0..2], opsel, opsel_hi, neg (low half), neg_hi: bit i for source i
//   MFMA      dst, src[0..2] with the acc bits applied; ext = cbsz | abid << 4 | blgp << 8
//   DS        dst = vdst, src[0] = addr, src[1] = data0, src[2] = data1;
//             imm = 16-bit offset, or offset0 with ext = offset1 (trait two_offsets).
//             ds_gws_init/sema_br/barrier: the value is in src[0].
//   FLAT      src[0] = vaddr (64 bits), src[1] = vdata, dst = vdst of loads and of atomics with
//             glc; imm = 12-bit unsigned offset
//   GLOBAL    the same; imm = 13-bit signed offset; soffset = saddr, a 64-bit base (vaddr is then
//             a 32-bit offset), or op_none
//   SCRATCH   the same; either src[0] = vaddr (32 bits) or soffset = saddr, the other is op_none
//   MUBUF     src[0] = vaddr (op_none without offen and idxen; with both: index, then offset),
//             src[1] = vdata of stores and atomics, dst = vdata of loads and of atomics with glc;
//             srsrc, soffset, imm = 12-bit unsigned offset. With inst_lds there is no vdata.
//   MTBUF     the same; ext = dfmt | nfmt << 4
//
// An operand the instruction does not have is op_none. The destination of mac, fmac and dotc
// instructions is also read (trait accumulate) and is not repeated among the sources.
//
// SDWA and DPP: flag inst_sdwa or inst_dpp, ext = the whole second dword, src[0] = its register
// (SDWA: a scalar one if S0 is set; src[1] too if S1 is set), neg, abs, omod and clamp taken
// from it.
//
// 64-bit and wider scalar operands are aligned: hardware ignores the low bits of their number.
#pragma once

#include <span>

#include "isa/inst.h"

namespace vgpu::isa {

// One enumerator per mnemonic. The VOP3 form of a VOP1, VOP2 or VOPC instruction has the same Op.
enum class Op : u16 {
#define OP(opcode, name, ...) name,
#define OP_AGAIN(...)  // a second encoding of a mnemonic named before
#include "isa/tables/all.def"
#undef OP
#undef OP_AGAIN
  count
};

// What an operand holds. b: bits without a particular meaning; x2, x4: that many in a tuple.
// clang-format off
enum class Type : u8 {
  none,
  b16, i16, u16, f16,
  b32, i32, u32, f32,
  f16x2, i16x2,               // two halves in one register
  b64, i64, u64, f64,
  b32x2, f32x2, f64x4,        // constants are those of the element
  b96, b128, b256, b512, b1024,
  // Immediates.
  imm16,                      // a number
  imm7,                       // s_atc_probe
  branch,                     // signed distance in dwords from the next instruction
  waitcnt,                    // s_waitcnt counters
  hwreg,                      // hardware register, bit offset and size
  message,                    // s_sendmsg
  gpr_idx,                    // s_set_gpr_idx_mode bits
};
// clang-format on

namespace trait {
enum Bits : u32 {
  // Vector ALU.
  clamp = 1 << 0,       // the VOP3 form has the clamp bit
  omod = 1 << 1,        // ... the output modifier
  op_sel = 1 << 2,      // ... op_sel
  fp_mods = 1 << 3,     // ... neg and abs although the operands are not floating point
  carry_out = 1 << 4,   // sdst is written
  carry_in = 1 << 5,    // src[2] is a lane mask
  accumulate = 1 << 6,  // dst is also read
  scalar_dst = 1 << 7,  // dst is an SGPR
  madmk = 1 << 8,
  madak = 1 << 9,
  no_vop3 = 1 << 10,
  no_sdwa = 1 << 11,
  no_dpp = 1 << 12,
  e32_only = no_vop3 | no_sdwa | no_dpp,
  mix = 1 << 13,  // v_fma_mix: opsel_hi selects half precision
  mfma = 1 << 14,
  acc_dst = 1 << 15,  // dst is an accumulation register
  acc_src = 1 << 16,  // src[0] is an accumulation register
  // Scalar ALU.
  reads_sdst = 1 << 17,
  literal = 1 << 18,  // always followed by a literal
  // Memory.
  load = 1 << 19,
  store = 1 << 20,
  atomic = 1 << 21,
  to_lds = 1 << 22,    // the lds bit is allowed
  lds_only = 1 << 23,  // the lds bit is required
  no_scc = 1 << 24,    // gfx90a: the scc bit is reserved
  cache_op = 1 << 25,  // no operands
  gds_only = 1 << 26,
  no_gds = 1 << 27,
  two_offsets = 1 << 28,
  swizzle = 1 << 29,  // offset is a swizzle pattern
  data_in_addr = 1 << 30,
  // Scalar ALU again.
  register_src = u32{1} << 31,  // the source must be a register
};
}  // namespace trait

struct OpInfo {
  Op op;
  Format format;
  u16 opcode;        // the number in the encoding's op field
  const char* name;  // LLVM's mnemonic without _e32, _e64, _sdwa, _dpp
  u8 archs;          // bit 1 << Arch
  Type dst;          // smem: sdata
  Type src[3];       // memory: [0] address, [1] data, [2] second data
  u32 traits;        // trait::Bits

  bool has(u32 bits) const { return (traits & bits) != 0; }
  bool on(Arch arch) const { return (archs >> static_cast<int>(arch) & 1) != 0; }
};

// Registers an operand of this type takes.
int dwords(Type type);
bool is_float(Type type);
int source_count(const OpInfo& op);

// Every row, the VOP3 forms of VOP1, VOP2 and VOPC included.
std::span<const OpInfo> all_ops();

// The row of an opcode; null if the architecture does not have it.
const OpInfo* find_op(Arch arch, Format format, u32 opcode);

}  // namespace vgpu::isa
