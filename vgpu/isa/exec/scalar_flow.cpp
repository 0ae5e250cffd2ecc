// Jumps, calls, messages and everything that stops a wave.
#include "isa/exec/control.h"
#include "isa/exec/float_mode.h"
#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

void no_operation(Wave&, const Inst&) {}

// The address of the instruction after this one.
u64 next_pc(const Wave& wave, const Inst& inst) { return wave.pc_of(inst) + inst.len * 4u; }

void branch_by_constant(Wave& wave, const Inst& inst) {
  branch(wave, inst, i64{inst.len} + inst.imm);
}

template <auto Condition>
void branch_if(Wave& wave, const Inst& inst) {
  if (Condition(wave)) {
    branch_by_constant(wave, inst);
  }
}

void get_pc(Wave& wave, const Inst& inst) { set_scalar64(wave, inst.dst, next_pc(wave, inst)); }

void set_pc(Wave& wave, const Inst& inst) {
  wave.jump(source<u64>(wave, inst, inst.src[0]) & ~u64{3});
}

void swap_pc(Wave& wave, const Inst& inst) {
  const u64 target = source<u64>(wave, inst, inst.src[0]) & ~u64{3};
  set_scalar64(wave, inst.dst, next_pc(wave, inst));
  wave.jump(target);
}

void call(Wave& wave, const Inst& inst) {
  set_scalar64(wave, inst.dst, next_pc(wave, inst));
  branch_by_constant(wave, inst);
}

void end_program(Wave& wave, const Inst&) {
  wave.ended = true;
  wave.stop_with(Stop::end);
}

template <Stop kWhy>
void stop_after(Wave& wave, const Inst&) {
  wave.stop_with(kWhy);
}

void set_halt(Wave& wave, const Inst& inst) {
  if (inst.imm & 1) {
    wave.stop_with(Stop::halt);
  }
}

void set_priority(Wave& wave, const Inst& inst) { wave.priority = inst.imm & 3; }

void trap(Wave& wave, const Inst& inst) {
  wave.fault.trap_id = static_cast<u8>(inst.imm);
  stop_at(wave, inst, Stop::trap, "s_trap");
}

// Message ids ("CDNA2 ISA", 4.5; LLVM, SIDefines.h SendMsg). Graphics messages (GS and the like)
// do not occur in compute code.
enum Message : u32 {
  message_interrupt = 1,
  message_savewave = 4,
  message_stall_wave_gen = 5,
  message_halt_waves = 6,
  message_get_doorbell = 10,
};

bool send(Wave& wave, const Inst& inst) {
  switch (inst.imm & 15) {
    case message_interrupt: wave.machine->send_interrupt(wave, wave.s[op_m0]); return true;
    // Requests to the scheduler around wave save and debugging. It does both by its own means.
    case message_savewave:
    case message_stall_wave_gen:
    case message_halt_waves: return true;
    default: stop_illegal(wave, inst, "s_sendmsg: message is not one of compute shaders");
  }
  return false;
}

void send_message(Wave& wave, const Inst& inst) { send(wave, inst); }

void send_message_and_halt(Wave& wave, const Inst& inst) {
  if (send(wave, inst)) {
    wave.stop_with(Stop::halt);
  }
}

// VSKIP makes the hardware skip vector instructions. Compilers never set it; clearing it is fine.
void set_vskip(Wave& wave, const Inst& inst) {
  const u32 bit = source<u32>(wave, inst, inst.src[1]) & 31;
  if (source<u32>(wave, inst, inst.src[0]) >> bit & 1) {
    stop_illegal(wave, inst, "s_setvskip: skipping vector instructions is not supported");
  }
}

}  // namespace

Handler select_flow(Op op) {
  switch (op) {
    // Memory and the pipeline are in order here, so there is nothing to wait for or to clear.
    case Op::s_nop:
    case Op::s_waitcnt:
    case Op::s_icache_inv:
    case Op::s_incperflevel:
    case Op::s_decperflevel:
    case Op::s_ttracedata:
    case Op::s_setkill:
    case Op::s_wakeup: return no_operation;
    // No debugger sets the conditional debug flags (STATUS.COND_DBG_USER and _SYS).
    case Op::s_cbranch_cdbgsys:
    case Op::s_cbranch_cdbguser:
    case Op::s_cbranch_cdbgsys_or_user:
    case Op::s_cbranch_cdbgsys_and_user: return no_operation;

    case Op::s_branch: return branch_by_constant;
    case Op::s_cbranch_scc0: return branch_if<[](Wave& wave) { return wave.scc == 0; }>;
    case Op::s_cbranch_scc1: return branch_if<[](Wave& wave) { return wave.scc != 0; }>;
    case Op::s_cbranch_vccz: return branch_if<[](Wave& wave) { return wave.vcc() == 0; }>;
    case Op::s_cbranch_vccnz: return branch_if<[](Wave& wave) { return wave.vcc() != 0; }>;
    case Op::s_cbranch_execz: return branch_if<[](Wave& wave) { return wave.exec() == 0; }>;
    case Op::s_cbranch_execnz: return branch_if<[](Wave& wave) { return wave.exec() != 0; }>;
    case Op::s_getpc_b64: return get_pc;
    case Op::s_setpc_b64: return set_pc;
    case Op::s_swappc_b64: return swap_pc;
    case Op::s_call_b64: return call;

    case Op::s_endpgm:
    case Op::s_endpgm_saved:
    case Op::s_endpgm_ordered_ps_done: return end_program;
    case Op::s_barrier: return stop_after<Stop::barrier>;
    case Op::s_sleep: return stop_after<Stop::yield>;
    case Op::s_sethalt: return set_halt;
    case Op::s_setprio: return set_priority;
    case Op::s_trap: return trap;
    case Op::s_sendmsg: return send_message;
    case Op::s_sendmsghalt: return send_message_and_halt;
    case Op::s_setvskip: return set_vskip;
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
