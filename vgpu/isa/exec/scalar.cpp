#include "isa/exec/scalar.h"

#include "isa/exec/select.h"

namespace vgpu::isa::VGPU_ENGINE {

Handler select_scalar(const Inst& inst) {
  constexpr Handler (*kFamilies[])(Op) = {select_sop1,          select_sop2,
                                          select_compare,       select_flow,
                                          select_register_move, select_hardware_register};
  for (const auto& family : kFamilies) {
    if (Handler found = family(inst.op->op)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace vgpu::isa::VGPU_ENGINE
