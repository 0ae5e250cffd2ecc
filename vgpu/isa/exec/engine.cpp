// The interpreter's loop. Each slot of a code page holds its executor, so running is a chain of
// indirect calls; everything that needs a decision per instruction was decided at decode time.
#include <algorithm>

#include "isa/engine_list.h"
#include "isa/exec/control.h"
#include "isa/exec/float_mode.h"
#include "isa/exec/select.h"
#include "isa/tables.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

// The wave stopped at an instruction it could not run, or could not even fetch.
bool failed(Stop stop) {
  return stop == Stop::fault || stop == Stop::illegal || stop == Stop::trap;
}

void run_instructions(Wave& wave, u64 budget, const std::atomic<u32>& attention) {
  while (wave.retired < budget) {
    if (wave.mode & mode_gpr_idx_en) {
      // The wave stopped inside such a section; see s_set_gpr_idx_on.
      wave.retired += run_indexed(wave, kAttentionInterval);
    } else {
      u64 left = std::min(budget - wave.retired, kAttentionInterval);
      wave.retired += left;
      do {
        const Inst* inst = wave.ip;
        wave.ip = inst + inst->len;
        inst->exec(wave, *inst);
        --left;
      } while (left != 0 && wave.stop == Stop::none);
      wave.retired -= left;
    }
    if (wave.stop != Stop::none || attention.load(std::memory_order_relaxed) != 0) {
      return;
    }
  }
}

u64 run(Wave& wave, u64 budget, const std::atomic<u32>& attention) {
  wave.stop = Stop::none;
  wave.retired = 0;
  wave.jump(wave.pc);
  if (wave.stop != Stop::none) {
    return 0;
  }
  const u32 host_mode = _mm_getcsr();
  apply_float_mode(wave.mode);
  run_instructions(wave, budget, attention);
  _mm_setcsr(host_mode);
  wave.pc = failed(wave.stop) ? wave.fault.pc : wave.pc_of(*wave.ip);
  if (failed(wave.stop) || wave.stop == Stop::gws_wait) {
    --wave.retired;
  }
  return wave.retired;
}

Handler handler(const Inst& inst) {
  switch (inst.op->format) {
    case Format::sop1:
    case Format::sop2:
    case Format::sopk:
    case Format::sopc:
    case Format::sopp: return select_scalar(inst);
    case Format::smem:
    case Format::ds:
    case Format::flat:
    case Format::global:
    case Format::scratch:
    case Format::mubuf:
    case Format::mtbuf: return select_memory(inst);
    case Format::vop1:
    case Format::vop2:
    case Format::vopc:
    case Format::vop3:
    case Format::vop3p: return select_vector(inst);
    default: return nullptr;  // graphics
  }
}

#define VGPU_ENGINE_STRING(name) VGPU_ENGINE_STRING2(name)
#define VGPU_ENGINE_STRING2(name) #name
constexpr Engine kEngine = {VGPU_ENGINE_STRING(VGPU_ENGINE), run, handler};

}  // namespace

const Engine& engine() { return kEngine; }

}  // namespace vgpu::isa::VGPU_ENGINE
