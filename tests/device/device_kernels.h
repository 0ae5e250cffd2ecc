// Kernels the device tests share. Launch state: see KernelOptions.
#pragma once

namespace vgpu::device::test {

constexpr char kEmpty[] = "s_endpgm";

// One lane: place = log[0]++; log[1 + place] = value. kernarg: log, value.
constexpr char kAppend[] = R"(
  s_load_dwordx4 s[8:11], s[2:3], 0x0
  s_mov_b64 exec, 1
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v2, v0, v1, s[8:9] glc
  s_waitcnt vmcnt(0)
  v_lshlrev_b32 v2, 2, v2
  v_mov_b32 v3, s10
  global_store_dword v2, v3, s[8:9] offset:4
  s_waitcnt vmcnt(0)
  s_endpgm
)";

// Says that it runs, then spins until it is told to end: while (flags[0] == 0); flags[1]++ at the
// start and flags[2]++ at the end, one lane each. kernarg: flags.
constexpr char kSpin[] = R"(
  s_load_dwordx2 s[8:9], s[2:3], 0x0
  s_mov_b64 exec, 1
  v_mov_b32 v0, 0
  v_mov_b32 v1, 1
  s_waitcnt lgkmcnt(0)
  global_atomic_add v0, v1, s[8:9] offset:4
wait:
  global_load_dword v2, v0, s[8:9] glc
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s10, v2
  s_cmp_eq_u32 s10, 0
  s_cbranch_scc1 wait
  global_atomic_add v0, v1, s[8:9] offset:8
  s_waitcnt vmcnt(0)
  s_endpgm
)";

// Work-groups of 256 (4 waves): each item mixes a value through registers, LDS and barriers for
// `rounds` rounds, waits until the gate is open (not 0) and stores it; then one atomic add per item
// to a counter. kernarg: out, counter, rounds, gate. Reference: mix_reference() in
// preemption_test.cpp.
constexpr char kMix[] = R"(
  s_load_dwordx4 s[8:11], s[2:3], 0x0
  s_load_dword s12, s[2:3], 0x10
  s_load_dwordx2 s[16:17], s[2:3], 0x18
  s_lshl_b32 s13, s4, 8
  v_add_u32 v1, s13, v0
  v_mov_b32 v2, v1
  v_lshlrev_b32 v3, 2, v0
  v_add_u32 v4, 1, v0
  v_and_b32 v4, 0xff, v4
  v_lshlrev_b32 v4, 2, v4
  v_accvgpr_write_b32 a0, v1
  s_mov_b32 s14, 0
  s_waitcnt lgkmcnt(0)
round:
  ds_write_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  s_barrier
  ds_read_b32 v5, v4
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_mul_lo_u32 v2, v2, 5
  v_accvgpr_read_b32 v6, a0
  v_add_u32 v2, v2, v5
  v_xor_b32 v2, v2, v6
  v_add_u32 v6, s14, v6
  v_accvgpr_write_b32 a0, v6
  s_add_u32 s14, s14, 1
  s_cmp_lt_u32 s14, s12
  s_cbranch_scc1 round
gate:
  s_load_dword s15, s[16:17], 0x0 glc
  s_waitcnt lgkmcnt(0)
  s_cmp_eq_u32 s15, 0
  s_cbranch_scc1 gate
  v_lshlrev_b32 v7, 2, v1
  global_store_dword v7, v2, s[8:9]
  v_mov_b32 v8, 0
  v_mov_b32 v9, 1
  global_atomic_add v8, v9, s[10:11]
  s_waitcnt vmcnt(0)
  s_endpgm
)";
constexpr unsigned kMixVgprs = 16;
constexpr unsigned kMixAccumOffset = 12;
constexpr unsigned kMixLds = 1024;

}  // namespace vgpu::device::test
