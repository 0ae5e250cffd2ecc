// The state of one wavefront: 64 lanes, their registers and what they share.
//
// Everything a context save must keep is in the first part of the struct plus the register arrays
// it points to; the second part is rebuilt at restore. A wave is run by one thread at a time.
#pragma once

#include <atomic>

#include "isa/inst.h"

namespace vgpu::isa {

constexpr int kLanes = 64;

class CodeCache;
struct CodePage;

// Why Engine::run returned.
enum class Stop : u8 {
  none,      // the budget is used up, or attention was raised: run again
  end,       // s_endpgm
  barrier,   // at s_barrier: run again when all waves of the group are there
  yield,     // s_sleep: others first, then run again
  halt,      // s_sethalt or a trap that halts: never runs again by itself
  fault,     // memory access fault: Wave::fault says where; ip is at the instruction
  illegal,   // unknown or unimplemented instruction: Wave::fault.pc
  trap,      // s_trap: Wave::fault.trap_id
  gws_wait,  // ds_gws_barrier not yet complete: run again, the instruction is retried
};

struct Fault {
  u64 va = 0;  // the address (fault)
  u64 pc = 0;
  bool write = false;
  bool no_permission = false;  // mapped, but not with this right
  u8 trap_id = 0;
  const char* reason = "";  // for the device log
};

// What a wave needs of the device around it. One per running work-group slice; all calls come from
// the thread that runs the wave.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual void send_interrupt(Wave& wave, u32 m0) = 0;  // s_sendmsg(MSG_INTERRUPT)
  virtual u64 real_time() = 0;                          // s_memrealtime: 100 MHz
  virtual u64 shader_time() = 0;                        // s_memtime
  // Global wave sync (cooperative groups). gws_barrier returns false if the wave must wait; it is
  // then asked again for the same wave until it answers true.
  virtual void gws_init(Wave& wave, u32 resource, u32 count) = 0;
  virtual bool gws_barrier(Wave& wave, u32 resource) = 0;
};

struct alignas(64) Wave {
  // ---- saved and restored ----
  // The scalar file, indexed by operand code: SGPRs, flat_scratch, vcc, ttmps, m0 and exec.
  u32 s[128] = {};
  u64 pc = 0;        // valid while the wave is not running: run() reads and writes it
  u32 mode = 0x2f0;  // MODE: round [3:0], denorm [7:4], dx10_clamp 8, ieee 9
  u32 trapsts = 0;
  u32 hw_id = 0;  // where the wave stands: s_getreg HW_REG_HW_ID
  u32 wave_in_group = 0;
  u16 nv = 0, nacc = 0;  // allocated arch and accumulation VGPRs
  u8 scc = 0;
  u8 priority = 0;  // s_setprio
  bool at_barrier = false;
  bool ended = false;
  bool gws_arrived = false;  // inside ds_gws_barrier, already counted
  u64 gws_phase = 0;

  u32* v = nullptr;    // VGPRs, v[reg * 64 + lane]; 64-byte aligned
  u32* acc = nullptr;  // accumulation VGPRs (gfx90a: same array, from accum_offset on)

  // ---- rebuilt at dispatch and restore ----
  const Inst* ip = nullptr;  // next instruction, inside page->slots
  CodePage* page = nullptr;
  CodeCache* code = nullptr;
  const PageTable* memory = nullptr;
  Machine* machine = nullptr;
  u8* lds = nullptr;  // the group's LDS
  u32 lds_size = 0;   // bytes allocated: accesses beyond read 0, writes are dropped
  Arch arch = Arch::gfx90a;
  u32 private_base_hi = 2, shared_base_hi = 1;  // aperture >> 48 (SH_MEM_BASES)
  u64 retired = 0;                              // instructions of this run()

  Stop stop = Stop::none;
  Fault fault;

  // EXEC expanded to one all-ones or zero word per lane, for blends; valid for mask_for.
  u64 mask_for = 0;
  alignas(64) u32 mask[kLanes] = {};

  u64 exec() const { return s[op_exec] | u64{s[op_exec + 1]} << 32; }
  void set_exec(u64 value) { s[op_exec] = static_cast<u32>(value), s[op_exec + 1] = value >> 32; }
  u64 vcc() const { return s[op_vcc] | u64{s[op_vcc + 1]} << 32; }
  void set_vcc(u64 value) { s[op_vcc] = static_cast<u32>(value), s[op_vcc + 1] = value >> 32; }

  void stop_with(Stop why) { stop = why; }
  // The address of the instruction being executed (ip has moved past it).
  u64 pc_of(const Inst& inst) const;
  // Continue at pc: resolves the code page. A pc outside executable memory stops with a fault.
  void jump(u64 target);
};

// The executors, compiled once per host instruction set (x86-64-v3, x86-64-v4).
struct Engine {
  const char* name;
  // Runs until the budget is used up, `attention` becomes non-zero (looked at every
  // kAttentionInterval instructions) or the wave stops. Returns the instructions retired. On
  // return wave.pc is valid and wave.stop says why.
  u64 (*run)(Wave& wave, u64 budget, const std::atomic<u32>& attention);
  // The executor of an opcode; null if it is not implemented (the decoder then installs a handler
  // that stops with Stop::illegal and the name).
  Handler (*handler)(const Inst& inst);
};
constexpr u64 kAttentionInterval = 256;

// The best engine for this CPU; null if it lacks AVX2 and FMA.
const Engine* host_engine();
// By name ("v3", "v4"), for tests and benchmarks; null if unknown or not supported by the CPU.
const Engine* engine_named(const char* name);

}  // namespace vgpu::isa
