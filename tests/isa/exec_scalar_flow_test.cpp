// The loop, jumps, stops, messages, EXEC, hardware registers and indexed registers.
#include <xmmintrin.h>

#include "isa/exec_support.h"

namespace vgpu::isa::test {
namespace {

class ScalarFlow : public ExecTest {};
EXEC_TEST_SUITE(ScalarFlow);

TEST_P(ScalarFlow, StopsAtTheEndAndCountsWhatRan) {
  EXPECT_EQ(run("s_nop 0\ns_waitcnt 0\ns_nop 3"), Stop::end);
  EXPECT_TRUE(wave.ended);
  EXPECT_EQ(wave.retired, 4u);
  EXPECT_EQ(wave.pc, kCode + 16);
}

TEST_P(ScalarFlow, ReturnsWhenTheBudgetIsUsedUp) {
  EXPECT_EQ(run("s_mov_b32 s0, 0\nagain: s_add_u32 s0, s0, 1\ns_branch again", 1001), Stop::none);
  EXPECT_EQ(wave.retired, 1001u);
  EXPECT_EQ(wave.s[0], 500u);
  EXPECT_EQ(wave.pc, kCode + 4);
  EXPECT_EQ(resume(3), Stop::none);
  EXPECT_EQ(wave.s[0], 502u) << "goes on where it stopped";
}

TEST_P(ScalarFlow, ReturnsSoonAfterAttentionIsRaised) {
  attention = 1;
  EXPECT_EQ(run("again: s_branch again", 1000000), Stop::none);
  EXPECT_EQ(wave.retired, kAttentionInterval);
}

TEST_P(ScalarFlow, BranchesOnConditions) {
  struct {
    const char* branch;
    u8 scc;
    u64 vcc, exec;
    bool taken;
  } const cases[] = {
      {"s_cbranch_scc0", 0, 1, 1, true},
      {"s_cbranch_scc0", 1, 1, 1, false},
      {"s_cbranch_scc1", 1, 1, 1, true},
      {"s_cbranch_scc1", 0, 1, 1, false},
      {"s_cbranch_vccz", 0, 0, 1, true},
      {"s_cbranch_vccz", 0, 1ull << 40, 1, false},
      {"s_cbranch_vccnz", 0, 1, 1, true},
      {"s_cbranch_vccnz", 0, 0, 1, false},
      {"s_cbranch_execz", 0, 1, 0, true},
      {"s_cbranch_execz", 0, 1, 1ull << 40, false},
      {"s_cbranch_execnz", 0, 1, 1, true},
      {"s_cbranch_execnz", 0, 1, 0, false},
      {"s_branch", 0, 0, 0, true},
      {"s_cbranch_cdbgsys", 1, 1, 1, false},
      {"s_cbranch_cdbguser", 1, 1, 1, false},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.branch);
    load(std::string("s_mov_b32 s0, 1\n") + test.branch + " out\ns_mov_b32 s0, 2\nout:");
    wave.scc = test.scc;
    wave.set_vcc(test.vcc);
    wave.set_exec(test.exec);
    EXPECT_EQ(resume(), Stop::end);
    EXPECT_EQ(wave.s[0], test.taken ? 1u : 2u);
  }
}

TEST_P(ScalarFlow, BranchesBackAndAcrossPages) {
  // The loop body spans more than one code page of 1024 dwords.
  ASSERT_EQ(run(R"(
      s_mov_b32 s0, 0
      again:
      s_add_u32 s0, s0, 1
      .rept 1500
      s_nop 0
      .endr
      s_cmp_lt_u32 s0, 5
      s_cbranch_scc1 again)"),
            Stop::end);
  EXPECT_EQ(wave.s[0], 5u);
}

TEST_P(ScalarFlow, RunsAnInstructionThatCrossesAPage) {
  ASSERT_EQ(run(".rept 1023\ns_nop 0\n.endr\ns_mov_b32 s0, 0x12345678\ns_mov_b32 s1, 7"),
            Stop::end);
  EXPECT_EQ(wave.s[0], 0x12345678u);
  EXPECT_EQ(wave.s[1], 7u);
}

TEST_P(ScalarFlow, CallsAndReturns) {
  ASSERT_EQ(run(R"(
      s_getpc_b64 s[0:1]
      s_add_u32 s2, s0, 32          // to function
      s_addc_u32 s3, s1, 0
      s_swappc_b64 s[4:5], s[2:3]
      s_call_b64 s[8:9], function
      s_mov_b32 s11, 2
      s_endpgm
      s_nop 0
      s_nop 0
      function:
      s_add_u32 s10, s10, 1
      s_cmp_eq_u32 s6, 1
      s_cselect_b32 s4, s8, s4
      s_cselect_b32 s5, s9, s5
      s_mov_b32 s6, 1
      s_setpc_b64 s[4:5])"),
            Stop::end);
  EXPECT_EQ(s64(0), kCode + 4);
  EXPECT_EQ(s64(8), kCode + 20);
  EXPECT_EQ(wave.s[11], 2u);
}

TEST_P(ScalarFlow, FaultsOnAJumpOutOfTheCode) {
  set_s64(0, 0x123456789000);
  EXPECT_EQ(run("s_nop 0\ns_setpc_b64 s[0:1]"), Stop::fault);
  EXPECT_EQ(wave.fault.va, 0x123456789000u);
  EXPECT_EQ(wave.pc, 0x123456789000u);
  EXPECT_FALSE(wave.fault.no_permission);
  set_s64(0, kData);
  EXPECT_EQ(run("s_setpc_b64 s[0:1]"), Stop::fault);
  EXPECT_TRUE(wave.fault.no_permission) << "mapped, but not executable";
}

TEST_P(ScalarFlow, StopsForBarrierSleepAndHaltAfterTheInstruction) {
  EXPECT_EQ(run("s_nop 0\ns_barrier"), Stop::barrier);
  EXPECT_EQ(wave.pc, kCode + 8);
  EXPECT_EQ(resume(), Stop::end);
  EXPECT_EQ(run("s_sleep 1"), Stop::yield);
  EXPECT_EQ(wave.pc, kCode + 4);
  EXPECT_EQ(run("s_sethalt 1"), Stop::halt);
  EXPECT_EQ(wave.pc, kCode + 4);
  EXPECT_EQ(run("s_sethalt 0"), Stop::end);
  EXPECT_EQ(run("s_setprio 2"), Stop::end);
  EXPECT_EQ(wave.priority, 2);
}

TEST_P(ScalarFlow, TrapsAtTheInstruction) {
  EXPECT_EQ(run("s_nop 0\ns_trap 2"), Stop::trap);
  EXPECT_EQ(wave.fault.trap_id, 2);
  EXPECT_EQ(wave.pc, kCode + 4);
  EXPECT_EQ(wave.fault.pc, kCode + 4);
  EXPECT_EQ(wave.retired, 1u);
}

TEST_P(ScalarFlow, NamesAnInstructionItDoesNotKnow) {
  EXPECT_EQ(run("s_nop 0\ns_cbranch_g_fork s[0:1], s[2:3]"), Stop::illegal);
  EXPECT_STREQ(wave.fault.reason, "s_cbranch_g_fork");
  EXPECT_EQ(wave.pc, kCode + 4);
}

TEST_P(ScalarFlow, SendsInterrupts) {
  wave.s[op_m0] = 0x1234;
  EXPECT_EQ(run("s_sendmsg sendmsg(MSG_INTERRUPT)"), Stop::end);
  EXPECT_EQ(machine.interrupts, std::vector<u32>{0x1234});
  EXPECT_EQ(run("s_sendmsg 4"), Stop::end) << "save wave: nothing to do";
  EXPECT_EQ(run("s_sendmsghalt sendmsg(MSG_INTERRUPT)"), Stop::halt);
  EXPECT_EQ(machine.interrupts.size(), 2u);
  EXPECT_EQ(run("s_sendmsg 2"), Stop::illegal) << "a message of geometry shaders";
}

TEST_P(ScalarFlow, SavesAndCombinesExec) {
  using Bits = u64 (*)(u64 s, u64 e);
  struct {
    const char* name;
    Bits bits;
    bool writes_new;
  } const cases[] = {
      {"s_and_saveexec_b64", [](u64 s, u64 e) { return s & e; }, false},
      {"s_or_saveexec_b64", [](u64 s, u64 e) { return s | e; }, false},
      {"s_xor_saveexec_b64", [](u64 s, u64 e) { return s ^ e; }, false},
      {"s_andn2_saveexec_b64", [](u64 s, u64 e) { return s & ~e; }, false},
      {"s_orn2_saveexec_b64", [](u64 s, u64 e) { return s | ~e; }, false},
      {"s_nand_saveexec_b64", [](u64 s, u64 e) { return ~(s & e); }, false},
      {"s_nor_saveexec_b64", [](u64 s, u64 e) { return ~(s | e); }, false},
      {"s_xnor_saveexec_b64", [](u64 s, u64 e) { return ~(s ^ e); }, false},
      {"s_andn1_saveexec_b64", [](u64 s, u64 e) { return ~s & e; }, false},
      {"s_orn1_saveexec_b64", [](u64 s, u64 e) { return ~s | e; }, false},
      {"s_andn1_wrexec_b64", [](u64 s, u64 e) { return ~s & e; }, true},
      {"s_andn2_wrexec_b64", [](u64 s, u64 e) { return s & ~e; }, true},
  };
  for (const auto& test : cases) {
    SCOPED_TRACE(test.name);
    load(std::string(test.name) + " s[0:1], s[2:3]");
    for (u64 exec : exec_masks()) {
      for (u64 source : exec_masks()) {
        wave.set_exec(exec);
        set_s64(2, source);
        wave.pc = kCode;
        ASSERT_EQ(resume(), Stop::end);
        const u64 expected = test.bits(source, exec);
        EXPECT_EQ(wave.exec(), expected);
        EXPECT_EQ(s64(0), test.writes_new ? expected : exec);
        EXPECT_EQ(wave.scc, expected != 0);
      }
    }
  }
}

TEST_P(ScalarFlow, ReadsHardwareRegisters) {
  wave.mode = 0x2f0;
  wave.trapsts = 0xabcd;
  wave.hw_id = 0x87654321;
  wave.scc = 1;
  wave.set_exec(0);
  wave.nv = 64;
  wave.nacc = 64;
  wave.lds_size = 1024;
  ASSERT_EQ(run(R"(
      s_getreg_b32 s0, hwreg(HW_REG_MODE)
      s_getreg_b32 s1, hwreg(HW_REG_MODE, 4, 4)
      s_getreg_b32 s2, hwreg(HW_REG_STATUS, 0, 1)
      s_getreg_b32 s3, hwreg(HW_REG_STATUS, 9, 1)
      s_getreg_b32 s4, hwreg(HW_REG_TRAPSTS)
      s_getreg_b32 s5, hwreg(HW_REG_HW_ID)
      s_getreg_b32 s6, hwreg(HW_REG_SH_MEM_BASES, 0, 16)
      s_getreg_b32 s7, hwreg(HW_REG_SH_MEM_BASES, 16, 16)
      s_getreg_b32 s8, hwreg(HW_REG_GPR_ALLOC, 8, 6)
      s_getreg_b32 s9, hwreg(HW_REG_LDS_ALLOC, 12, 9)
      s_getreg_b32 s10, hwreg(HW_REG_IB_STS))"),
            Stop::end);
  EXPECT_EQ(wave.s[0], 0x2f0u);
  EXPECT_EQ(wave.s[1], 0xfu);
  EXPECT_EQ(wave.s[2], 1u) << "SCC";
  EXPECT_EQ(wave.s[3], 1u) << "EXECZ";
  EXPECT_EQ(wave.s[4], 0xabcdu);
  EXPECT_EQ(wave.s[5], 0x87654321u);
  EXPECT_EQ(wave.s[6], wave.private_base_hi);
  EXPECT_EQ(wave.s[7], wave.shared_base_hi);
  EXPECT_EQ(wave.s[8], 15u) << "128 registers in units of 8, minus one";
  EXPECT_EQ(wave.s[9], 2u) << "in units of 512 bytes";
  EXPECT_EQ(wave.s[10], 0u);
  EXPECT_EQ(run("s_getreg_b32 s0, hwreg(33)"), Stop::illegal);
}

TEST_P(ScalarFlow, WritesHardwareRegisters) {
  wave.mode = 0x2f0;
  wave.s[0] = 3;
  ASSERT_EQ(run(R"(
      s_setreg_b32 hwreg(HW_REG_MODE, 0, 2), s0
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 4), 0
      s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, 8, 4), 0xff
      s_setreg_imm32_b32 hwreg(HW_REG_HW_ID), 0x55)"),
            Stop::end);
  EXPECT_EQ(wave.mode, 0x203u);
  EXPECT_EQ(wave.trapsts, 0xf00u);
  EXPECT_EQ(wave.hw_id, 0u) << "read-only";
}

TEST_P(ScalarFlow, ModeReachesTheHostAndIsUndoneAtTheEnd) {
  const u32 before = _mm_getcsr();
  // 1 + 2^-30 rounds up in mode 1, down in mode 2; a denormal survives only if allowed.
  const char* const program = R"(
      v_add_f32 v0, 1.0, v1
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 2
      v_add_f32 v2, 1.0, v1
      v_add_f32 v4, v3, v3
      s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0
      v_add_f32 v5, v3, v3)";
  load(program);
  wave.mode = 0x2f1;
  for (int lane = 0; lane < kLanes; ++lane) {
    v(1)[lane] = 0x30800000;  // 2^-30
    v(3)[lane] = 3;           // denormal
  }
  ASSERT_EQ(resume(), Stop::end);
  EXPECT_EQ(v(0)[5], 0x3f800001u);
  EXPECT_EQ(v(2)[5], 0x3f800000u);
  EXPECT_EQ(v(4)[5], 6u);
  EXPECT_EQ(v(5)[5], 0u);
  EXPECT_EQ(_mm_getcsr(), before);
}

TEST_P(ScalarFlow, MovesRelativeToM0) {
  randomize();
  const u32 expected32 = wave.s[27];
  const u64 expected64 = s64(24);
  const u32 source = wave.s[40];
  ASSERT_EQ(run(R"(
      s_mov_b32 m0, 7
      s_movrels_b32 s0, s20
      s_movreld_b32 s50, s40
      s_mov_b32 m0, 4
      s_movrels_b64 s[2:3], s[20:21]
      s_movreld_b64 s[60:61], s[40:41])"),
            Stop::end);
  EXPECT_EQ(wave.s[0], expected32);
  EXPECT_EQ(wave.s[57], source);
  EXPECT_EQ(s64(2), expected64);
  EXPECT_EQ(s64(64), s64(40));
}

TEST_P(ScalarFlow, IndexesVectorRegisters) {
  const u32 source = v(13)[9], other = v(20)[9], kept = v(10)[9];
  wave.s[0] = 3;
  wave.s[1] = 5;
  ASSERT_EQ(run(R"(
      s_set_gpr_idx_on s0, gpr_idx(SRC0)
      v_mov_b32 v1, v10            // v13
      s_set_gpr_idx_idx s1
      v_mov_b32 v2, v15            // v20
      s_set_gpr_idx_mode gpr_idx(DST)
      v_mov_b32 v30, v10           // to v35
      s_set_gpr_idx_off
      v_mov_b32 v4, v10)"),
            Stop::end);
  EXPECT_EQ(v(1)[9], source);
  EXPECT_EQ(v(2)[9], other);
  EXPECT_EQ(v(35)[9], kept);
  EXPECT_EQ(v(4)[9], kept);
  EXPECT_EQ(wave.mode >> 27 & 1, 0u);
}

TEST_P(ScalarFlow, IndexedSectionsSurviveInterruption) {
  // A section longer than one check for attention: it stops in the middle and goes on indexed.
  wave.s[0] = 3;
  load(
      "s_set_gpr_idx_on s0, gpr_idx(SRC0)\n.rept 700\ns_nop 0\n.endr\nv_mov_b32 v1, v10\n"
      "s_set_gpr_idx_off");
  const u32 source = v(13)[9];
  int stops = 0;
  while (resume() != Stop::end) {
    ASSERT_LT(++stops, 10);
  }
  EXPECT_EQ(v(1)[9], source);
}

}  // namespace
}  // namespace vgpu::isa::test
