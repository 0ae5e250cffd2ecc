// Where decode() puts the fields of an instruction: the contract of tables.h with the executors.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "isa/disasm.h"

namespace vgpu::isa::test {
namespace {

// Decodes for gfx90a unless told otherwise; fails the test if the words are not an instruction.
Inst decoded(u32 low, u32 high = 0, Arch arch = Arch::gfx90a) {
  const u32 words[] = {low, high};
  Inst inst;
  EXPECT_TRUE(decode(arch, words, 2, inst)) << std::hex << low << " " << high;
  return inst;
}

bool rejected(u32 low, u32 high = 0, Arch arch = Arch::gfx90a) {
  const u32 words[] = {low, high};
  Inst inst;
  return !decode(arch, words, 2, inst);
}

constexpr u16 v(int n) { return static_cast<u16>(op_vgpr0 + n); }
constexpr u16 a(int n) { return static_cast<u16>(op_acc0 + n); }

TEST(DecodeScalar, LiteralIsInImmAndTheInstructionHasTwoWords) {
  const Inst inst = decoded(0x8004ff06, 0x12345678);  // s_add_u32 s4, s6, 0x12345678
  EXPECT_EQ(inst.op->op, Op::s_add_u32);
  EXPECT_EQ(inst.dst, 4);
  EXPECT_EQ(inst.src[0], 6);
  EXPECT_EQ(inst.src[1], op_literal);
  EXPECT_EQ(inst.imm, 0x12345678);
  EXPECT_EQ(inst.len, 2);
}

TEST(DecodeScalar, PairsAreAligned) {
  const Inst inst = decoded(0xbe850107);  // s_mov_b64 s[4:5], s[6:7], with odd numbers
  EXPECT_EQ(inst.dst, 4);
  EXPECT_EQ(inst.src[0], 6);
  EXPECT_TRUE(rejected(0xbe84016b)) << "vcc_hi begins no pair";
}

TEST(DecodeScalar, SopkComparisonReadsItsRegister) {
  const Inst compare = decoded(0xb1058000);  // s_cmpk_eq_i32 s5, 0x8000
  EXPECT_EQ(compare.dst, op_none);
  EXPECT_EQ(compare.src[0], 5);
  EXPECT_EQ(compare.imm, -32768);
  const Inst add = decoded(0xb7050001);  // s_addk_i32 s5, 1
  EXPECT_EQ(add.dst, 5);
  EXPECT_EQ(add.src[0], op_none);
}

TEST(DecodeScalar, SetregImm32KeepsBothNumbers) {
  const Inst inst = decoded(0xba00f802, 0xcafe);  // s_setreg_imm32_b32 hwreg(2, 0, 32), 0xcafe
  EXPECT_EQ(static_cast<u16>(inst.imm), 0xf802);
  EXPECT_EQ(inst.ext, 0xcafeu);
  EXPECT_EQ(inst.len, 2);
}

TEST(DecodeScalar, BranchDistanceIsSigned) {
  EXPECT_EQ(decoded(0xbf82fffe).imm, -2);  // s_branch -2
}

TEST(DecodeSmem, OffsetIsImmediateRegisterOrBoth) {
  const Inst immediate = decoded(0xc0020204, 0x1fffff);  // s_load_dword s8, s[8:9], -1
  EXPECT_EQ(immediate.dst, 8);
  EXPECT_EQ(immediate.src[0], 8);
  EXPECT_EQ(immediate.imm, -1);
  EXPECT_EQ(immediate.soffset, op_none);
  const Inst reg = decoded(0xc0000204, 16);  // s_load_dword s8, s[8:9], s16
  EXPECT_EQ(reg.soffset, 16);
  EXPECT_EQ(reg.flags & (inst_imm | inst_soe), inst_soe);
  const Inst sum = decoded(0xc0024204, 0x0e000010);  // s_load_dword s8, s[8:9], s7 offset:0x10
  EXPECT_EQ(sum.soffset, 7);
  EXPECT_EQ(sum.imm, 16);
}

TEST(DecodeSmem, StoreHasDataAndAtomicReturnsWithGlc) {
  const Inst store = decoded(0xc0420204, 0);  // s_store_dword s8, s[8:9], 0
  EXPECT_EQ(store.dst, op_none);
  EXPECT_EQ(store.src[1], 8);
  EXPECT_EQ(decoded(0xc20a0204, 0).dst, op_none);  // s_atomic_add s8, s[8:9], 0
  EXPECT_EQ(decoded(0xc20b0204, 0).dst, 8);        // ... glc
  EXPECT_EQ(decoded(0xc20b0204, 0).src[1], 8);
}

TEST(DecodeVop2, ImplicitVccIsMadeExplicit) {
  const Inst select = decoded(0x00080d08 | 0x100);  // v_cndmask_b32_e32 v4, v8, v6, vcc
  EXPECT_EQ(select.src[2], op_vcc);
  EXPECT_EQ(select.sdst, op_none);
  const Inst addc = decoded(0x38080d08);  // v_addc_co_u32_e32 v4, vcc, v8, v6, vcc
  EXPECT_EQ(addc.sdst, op_vcc);
  EXPECT_EQ(addc.src[2], op_vcc);
  const Inst compare = decoded(0x7c820d08);  // v_cmp_lt_f32_e32 vcc, v8, v6
  EXPECT_EQ(compare.dst, op_vcc);
  EXPECT_EQ(compare.sdst, op_vcc);
}

TEST(DecodeVop2, MadConstantStandsInItsPlace) {
  const Inst mk = decoded(0x2e080d08, 0x40490fdb);  // v_madmk_f32 v4, v8, 0x40490fdb, v6
  EXPECT_EQ(mk.src[1], op_literal);
  EXPECT_EQ(mk.src[2], v(6));
  const Inst ak = decoded(0x30080d08, 0x40490fdb);  // v_madak_f32 v4, v8, v6, 0x40490fdb
  EXPECT_EQ(ak.src[1], v(6));
  EXPECT_EQ(ak.src[2], op_literal);
  EXPECT_EQ(ak.imm, 0x40490fdb);
}

TEST(DecodeVop1, ReadfirstlaneWritesAScalar) {
  const Inst inst = decoded(0x7e080508);  // v_readfirstlane_b32 s4, v8
  EXPECT_EQ(inst.dst, 4);
  EXPECT_EQ(inst.src[0], v(8));
}

TEST(DecodeSdwa, SourcesAndModifiersComeFromTheSecondWord) {
  // v_add_f32_sdwa v4, -|s8|, v6 clamp mul:2 dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE
  //   src0_sel:BYTE_1 src1_sel:DWORD
  const Inst inst = decoded(0x02080cf9, 0x06b17508);
  EXPECT_TRUE(inst.flags & inst_sdwa);
  EXPECT_TRUE(inst.flags & inst_clamp);
  EXPECT_EQ(inst.src[0], 8) << "S0 set: a scalar register";
  EXPECT_EQ(inst.src[1], v(6));
  EXPECT_EQ(inst.neg, 1);
  EXPECT_EQ(inst.abs, 1);
  EXPECT_EQ(inst.omod, 1);
  EXPECT_EQ(inst.ext, 0x06b17508u);
  // v_cmp_lt_i32_sdwa s[6:7], v8, sext(v6) src0_sel:DWORD src1_sel:WORD_0
  const Inst compare = decoded(0x7d820cf9, 0x0c068608);
  EXPECT_EQ(compare.dst, 6);
  EXPECT_EQ(compare.sdst, 6);
}

TEST(DecodeDpp, SourceComesFromTheSecondWord) {
  // v_add_f32_dpp v4, -v8, |v6| row_shr:1 row_mask:0xa bank_mask:0xf
  const Inst inst = decoded(0x02080cfa, 0xaf911108);
  EXPECT_TRUE(inst.flags & inst_dpp);
  EXPECT_EQ(inst.src[0], v(8));
  EXPECT_EQ(inst.neg, 1);
  EXPECT_EQ(inst.abs, 2);
  EXPECT_EQ(inst.ext, 0xaf911108u);
}

TEST(DecodeDpp, RowNewbcastIsOfGfx90aAndTheOnlyOneFor64Bits) {
  constexpr u32 kFmacF64 = 0x08080cfa, kAddF32 = 0x02080cfa;
  constexpr u32 kNewbcast = 0xff015008, kMirror = 0xff014008;
  EXPECT_FALSE(rejected(kFmacF64, kNewbcast));
  EXPECT_TRUE(rejected(kFmacF64, kMirror));
  EXPECT_FALSE(rejected(kAddF32, kNewbcast));
  EXPECT_TRUE(rejected(kAddF32, kNewbcast, Arch::gfx906));
}

TEST(DecodeVop3, ModifiersAndCarryRegister) {
  // v_fma_f32 v4, -v6, |v8|, v10 clamp mul:4
  const Inst fma = decoded(0xd1cb8204, 0x342a1106);
  EXPECT_EQ(fma.op->op, Op::v_fma_f32);
  EXPECT_EQ(fma.neg, 1);
  EXPECT_EQ(fma.abs, 2);
  EXPECT_EQ(fma.omod, 2);
  EXPECT_TRUE(fma.flags & inst_clamp);
  // v_add_co_u32_e64 v4, s[6:7], v6, v8: the same Op as the short form
  const Inst add = decoded(0xd1190604, 0x00021106);
  EXPECT_EQ(add.op->op, Op::v_add_co_u32);
  EXPECT_EQ(add.sdst, 6);
  // v_mad_f16 v4, v6, v8, v10 op_sel:[1,0,0,1]
  EXPECT_EQ(decoded(0xd2034804, 0x042a1106).opsel, 0b1001);
}

TEST(DecodeVop3, OneOpcodeTwoArchitectures) {
  EXPECT_EQ(decoded(0x08080d08, 0, Arch::gfx906).op->op, Op::v_mul_legacy_f32);
  EXPECT_EQ(decoded(0x08080d08, 0, Arch::gfx90a).op->op, Op::v_fmac_f64);
}

TEST(DecodeVop3p, HalvesAreSelectedBySource) {
  // v_pk_fma_f16 v4, v6, v8, v10 op_sel:[1,0,0] op_sel_hi:[1,1,0] neg_lo:[0,1,0] neg_hi:[0,0,1]
  const Inst inst = decoded(0xd38e0c04, 0x5c2a1106);
  EXPECT_EQ(inst.opsel, 0b001);
  EXPECT_EQ(inst.opsel_hi, 0b011);
  EXPECT_EQ(inst.neg, 0b010);
  EXPECT_EQ(inst.neg_hi, 0b100);
}

TEST(DecodeMfma, AccBitsChooseTheRegisterFile) {
  // v_mfma_f32_32x32x1f32 a[4:35], v6, a8, a[10:41] cbsz:1 abid:2 blgp:3
  const Inst inst = decoded(0xd3c09104, 0x742a1106);
  EXPECT_EQ(inst.dst, a(4));
  EXPECT_EQ(inst.src[0], v(6));
  EXPECT_EQ(inst.src[1], a(8));
  EXPECT_EQ(inst.src[2], a(10));
  EXPECT_EQ(inst.ext, 0x321u);
  EXPECT_TRUE(rejected(0xd3c09104, 0x742a1106, Arch::gfx906));
}

TEST(DecodeDs, OneOffsetOfSixteenBitsOrTwoOfEight) {
  const Inst read = decoded(0xd86c1234, 0x08000002);  // ds_read_b32 v8, v2 offset:0x1234
  EXPECT_EQ(read.imm, 0x1234);
  EXPECT_EQ(read.dst, v(8));
  EXPECT_EQ(read.src[0], v(2));
  const Inst write2 = decoded(0xd81c3412, 0x00060402);  // ds_write2_b32 v2, v4, v6 offset0 offset1
  EXPECT_EQ(write2.imm, 0x12);
  EXPECT_EQ(write2.ext, 0x34u);
  EXPECT_EQ(write2.src[1], v(4));
  EXPECT_EQ(write2.src[2], v(6));
}

TEST(DecodeDs, AccBitIsForDataOnly) {
  const Inst inst = decoded(0xda000000, 0x00000402);  // ds_add_u32 v2, a4
  EXPECT_EQ(inst.src[0], v(2));
  EXPECT_EQ(inst.src[1], a(4));
  EXPECT_TRUE(rejected(0xda000000, 0x00000402, Arch::gfx906));
}

TEST(DecodeFlat, AddressAndOffset) {
  const Inst flat = decoded(0xdc500fff, 0x08000002);  // flat_load_dword v8, v[2:3] offset:4095
  EXPECT_EQ(flat.imm, 4095);
  EXPECT_EQ(flat.soffset, op_none);
  const Inst global = decoded(0xdc509000, 0x08040002);  // global_load_dword v8, v2, s[4:5] -4096
  EXPECT_EQ(global.imm, -4096);
  EXPECT_EQ(global.soffset, 4);
  EXPECT_EQ(global.src[0], v(2));
  const Inst off = decoded(0xdc708000, 0x007f0402);  // global_store_dword v[2:3], v4, off
  EXPECT_EQ(off.soffset, op_none);
  EXPECT_EQ(off.src[1], v(4));
  EXPECT_EQ(off.dst, op_none);
  const Inst scratch = decoded(0xdc504000, 0x08030000);  // scratch_load_dword v8, off, s3
  EXPECT_EQ(scratch.src[0], op_none);
  EXPECT_EQ(scratch.soffset, 3);
}

TEST(DecodeFlat, AtomicReturnsOnlyWithGlc) {
  EXPECT_EQ(decoded(0xdd088000, 0x087f0402).dst, op_none);  // global_atomic_add v[2:3], v4, off
  EXPECT_EQ(decoded(0xdd098000, 0x087f0402).dst, v(8));     // ... glc
}

TEST(DecodeBuffer, DescriptorAndOffsets) {
  // buffer_load_dword v4, v[2:3], s[12:15], s5 idxen offen offset:16
  const Inst inst = decoded(0xe0503010, 0x05030402);
  EXPECT_EQ(inst.dst, v(4));
  EXPECT_EQ(inst.src[0], v(2));
  EXPECT_EQ(inst.srsrc, 12);
  EXPECT_EQ(inst.soffset, 5);
  EXPECT_EQ(inst.imm, 16);
  EXPECT_EQ(inst.flags & (inst_offen | inst_idxen), inst_offen | inst_idxen);
  // tbuffer_load_format_x v4, off, s[12:15], 0 format:[BUF_DATA_FORMAT_32,BUF_NUM_FORMAT_FLOAT]
  EXPECT_EQ(decoded(0xeba00000, 0x80030402).ext, 4u | 7u << 4);
}

TEST(DecodeBuffer, CacheWritebackAsCompilersEmitIt) {
  EXPECT_EQ(decoded(0xe0a0c000).op->op, Op::buffer_wbl2);  // glc and scc set
  EXPECT_EQ(decoded(0xe0a00000).op->op, Op::buffer_wbl2);
  EXPECT_EQ(decoded(0xe0a40000).op->op, Op::buffer_invl2);
}

TEST(Decode, ACutOffInstructionIsNoInstruction) {
  const u32 words[] = {0xd1cb0004, 0x042a1106};  // v_fma_f32
  Inst inst;
  EXPECT_TRUE(decode(Arch::gfx90a, words, 2, inst));
  EXPECT_FALSE(decode(Arch::gfx90a, words, 1, inst));
  EXPECT_FALSE(decode(Arch::gfx90a, words, 0, inst));
  const u32 literal[] = {0xbe8000ff};
  EXPECT_FALSE(decode(Arch::gfx90a, literal, 1, inst));
}

TEST(Disassemble, UnknownEncodingIsNamed) {
  const u32 image_load[] = {0xf0000f00, 0}, nothing[] = {0xffffffff, 0};
  EXPECT_EQ(disassemble(Arch::gfx90a, image_load, 2), "image encoding 0xf0000f00");
  EXPECT_EQ(disassemble(Arch::gfx90a, nothing, 2), "unknown encoding 0xffffffff");
}

TEST(Tables, RowsAreFoundByTheirOpcode) {
  for (const OpInfo& row : all_ops()) {
    for (Arch arch : {Arch::gfx906, Arch::gfx90a}) {
      if (row.on(arch)) {
        EXPECT_EQ(find_op(arch, row.format, row.opcode), &row) << row.name;
      }
    }
  }
}

TEST(Tables, EveryOpHasARowOnSomeArchitecture) {
  std::vector<bool> seen(static_cast<size_t>(Op::count));
  for (const OpInfo& row : all_ops()) {
    EXPECT_NE(row.archs, 0) << row.name;
    seen[static_cast<size_t>(row.op)] = true;
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), false), 0);
}

}  // namespace
}  // namespace vgpu::isa::test
