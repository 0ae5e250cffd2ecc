// s_getreg and s_setreg: bit fields of hardware registers. The 16-bit constant holds the register
// id in [5:0], the lowest bit in [10:6] and the width minus one in [15:11].
#include "isa/exec/control.h"
#include "isa/exec/float_mode.h"
#include "isa/exec/scalar.h"
#include "isa/exec/scalar_operands.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// Ids as LLVM names them (SIDefines.h, Hwreg), those of gfx9.
enum HardwareRegister : u32 {
  hwreg_mode = 1,
  hwreg_status = 2,
  hwreg_trapsts = 3,
  hwreg_hw_id = 4,
  hwreg_gpr_alloc = 5,
  hwreg_lds_alloc = 6,
  hwreg_ib_sts = 7,
  hwreg_sh_mem_bases = 15,
  hwreg_tba_lo = 16,
  hwreg_tba_hi = 17,
  hwreg_tma_lo = 18,
  hwreg_tma_hi = 19,
};

struct Field {
  u32 id, offset, mask;
};

Field field_of(const Inst& inst) {
  const u32 code = static_cast<u32>(inst.imm);
  const u32 offset = code >> 6 & 31;
  const u32 width = (code >> 11 & 31) + 1;
  return {code & 63, offset, static_cast<u32>((u64{1} << width) - 1)};
}

u32 status(const Wave& wave) {
  constexpr u32 kInGroup = 1u << 11, kValid = 1u << 16;
  return wave.scc | u32{wave.priority} << 3 | u32{wave.exec() == 0} << 9 |
         u32{wave.vcc() == 0} << 10 | kInGroup | u32{wave.at_barrier} << 12 | kValid;
}

// Sizes in allocation units minus one; bases are zero, as nothing but this wave is visible.
u32 gpr_alloc(const Wave& wave) {
  const u32 unit = wave.arch == Arch::gfx90a ? 8 : 4;
  const u32 vgprs = wave.arch == Arch::gfx90a ? u32{wave.nv} + wave.nacc : u32{wave.nv};
  const u32 vgpr_size = vgprs ? (vgprs + unit - 1) / unit - 1 : 0;
  constexpr u32 kSgprSize = 112 / 16 - 1;  // gfx9 gives every wave 112 SGPRs, in units of 16
  return vgpr_size << 8 | kSgprSize << 24;
}

u32 lds_alloc(const Wave& wave) {
  constexpr u32 kUnit = 512;  // bytes: 128 dwords
  return (wave.lds_size + kUnit - 1) / kUnit << 12;
}

bool read_register(const Wave& wave, u32 id, u32& value) {
  switch (id) {
    case hwreg_mode: value = wave.mode; return true;
    case hwreg_status: value = status(wave); return true;
    case hwreg_trapsts: value = wave.trapsts; return true;
    case hwreg_hw_id: value = wave.hw_id; return true;
    case hwreg_gpr_alloc: value = gpr_alloc(wave); return true;
    case hwreg_lds_alloc: value = lds_alloc(wave); return true;
    case hwreg_ib_sts: value = 0; return true;  // all counters at zero: nothing is outstanding
    case hwreg_sh_mem_bases: value = wave.private_base_hi | wave.shared_base_hi << 16; return true;
    // The trap handler's addresses read as zero outside of it.
    case hwreg_tba_lo:
    case hwreg_tba_hi:
    case hwreg_tma_lo:
    case hwreg_tma_hi: value = 0; return true;
    default: return false;
  }
}

void get_register(Wave& wave, const Inst& inst) {
  const Field field = field_of(inst);
  u32 value = 0;
  if (!read_register(wave, field.id, value)) {
    stop_illegal(wave, inst, "s_getreg: unknown hardware register");
    return;
  }
  set_scalar32(wave, inst.dst, value >> field.offset & field.mask);
}

void write_field(Wave& wave, const Inst& inst, u32 value) {
  const Field field = field_of(inst);
  u32 old = 0;
  if (!read_register(wave, field.id, old)) {
    stop_illegal(wave, inst, "s_setreg: unknown hardware register");
    return;
  }
  const u32 mask = field.mask << field.offset;
  const u32 merged = (old & ~mask) | (value << field.offset & mask);
  if (field.id == hwreg_mode) {
    const u32 kept = mode_gpr_idx_en | mode_vskip;  // these have instructions of their own
    wave.mode = (merged & ~kept) | (wave.mode & kept);
    apply_float_mode(wave.mode);
  } else if (field.id == hwreg_trapsts) {
    wave.trapsts = merged;
  }
  // The rest is read-only without privilege; hardware drops such writes.
}

void set_register(Wave& wave, const Inst& inst) {
  write_field(wave, inst, scalar32(wave, inst, inst.src[0]));
}

void set_register_constant(Wave& wave, const Inst& inst) { write_field(wave, inst, inst.ext); }

}  // namespace

Handler select_hardware_register(Op op) {
  switch (op) {
    case Op::s_getreg_b32: return get_register;
    case Op::s_setreg_b32: return set_register;
    case Op::s_setreg_imm32_b32: return set_register_constant;
    default: return nullptr;
  }
}

}  // namespace vgpu::isa::VGPU_ENGINE
