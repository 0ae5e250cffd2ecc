// One decoded gfx9 instruction, as the executors see it.
//
// The decoder turns 4 or 8 bytes into an Inst once; the interpreter then runs from arrays of Inst
// (CodePage, code_cache.h). Operands keep the 9-bit source encoding of the manual ("CDNA2 ISA",
// 5.2 and 6.2.1), extended by 512.. for accumulation registers, so that table, disassembler and
// executor speak of the same numbers.
#pragma once

#include "memory/page_table.h"

namespace vgpu::isa {

enum class Arch : u8 { gfx906, gfx90a };

// clang-format off
enum class Format : u8 {
  sop1, sop2, sopk, sopc, sopp, smem,
  vop1, vop2, vopc, vop3, vop3p,
  ds, flat, global, scratch, mubuf, mtbuf,
  mimg, exp, vintrp,  // graphics only: not in the tables, so never decoded
};
// clang-format on

// Operand codes.
enum Operand : u16 {
  op_sgpr0 = 0,           // 0..101
  op_flat_scratch = 102,  // lo, hi
  op_xnack_mask = 104,    // lo, hi
  op_vcc = 106,           // lo, hi
  op_ttmp0 = 108,         // 108..123
  op_m0 = 124,
  op_exec = 126,         // lo, hi
  op_const0 = 128,       // 128 = 0, 129..192 = 1..64, 193..208 = -1..-16
  op_shared_base = 235,  // apertures: base and limit
  op_shared_limit = 236,
  op_private_base = 237,
  op_private_limit = 238,
  op_pops_exiting_wave_id = 239,
  op_float0 = 240,  // 0.5 -0.5 1 -1 2 -2 4 -4 1/(2*pi)
  op_sdwa = 249,
  op_dpp = 250,
  op_vccz = 251,
  op_execz = 252,
  op_scc = 253,
  op_lds_direct = 254,
  op_literal = 255,  // Inst::imm
  op_vgpr0 = 256,    // 256..511
  op_acc0 = 512,     // 512..767, gfx90a and gfx908
  op_none = 0xffff,
};

struct Wave;
struct Inst;
struct OpInfo;  // tables.h: name, encoding, operand kinds of one opcode

// Runs one instruction. Advancing to the next one has already been done (Wave::ip).
using Handler = void (*)(Wave& wave, const Inst& inst);

enum InstFlags : u16 {
  inst_clamp = 1,
  inst_glc = 2,
  inst_slc = 4,
  inst_offen = 8,    // mubuf: vaddr holds an offset
  inst_idxen = 16,   // mubuf: vaddr holds an index
  inst_lds = 32,     // mubuf/flat: to LDS
  inst_gds = 64,     // ds
  inst_sdwa = 128,   // Inst::ext holds the SDWA dword
  inst_dpp = 256,    // Inst::ext holds the DPP dword
  inst_nv = 512,     // flat
  inst_scc = 1024,   // gfx90a flat/mubuf scc bit
  inst_acc = 2048,   // gfx90a: the data operand is an accumulation register (already in dst/src)
  inst_soe = 4096,   // smem: soffset enabled
  inst_imm = 8192,   // smem: immediate offset
  inst_tfe = 16384,  // gfx906 mubuf/mtbuf: texture fail enable
};

struct Inst {
  Handler exec = nullptr;
  const OpInfo* op = nullptr;
  u16 dst = op_none;                         // vdst / sdst / sdata
  u16 sdst = op_none;                        // second destination: carry, VOPC mask
  u16 src[3] = {op_none, op_none, op_none};  // memory: [0] address, [1] data, [2] second data,
                                             // tables.h says what is where
  u16 flags = 0;                             // InstFlags
  u8 len = 1;                                // dwords
  u8 neg = 0, abs = 0;                       // one bit per source; vop3p: neg = neg_lo
  u8 omod = 0;                               // 0, 1 = *2, 2 = *4, 3 = /2
  u8 opsel = 0;                              // vop3: op_sel; vop3p: op_sel (low nibble: lo)
  u8 opsel_hi = 0, neg_hi = 0;               // vop3p
  i32 imm = 0;                               // literal, simm16, or memory offset (sign-extended)
  u32 ext = 0;                               // SDWA/DPP dword; ds: offset1; mfma: cbsz/abid/blgp
  u16 srsrc = op_none, soffset = op_none;    // mubuf: descriptor and scalar offset;
                                             // global/scratch: soffset is saddr
};
static_assert(sizeof(Inst) <= 64);

}  // namespace vgpu::isa
