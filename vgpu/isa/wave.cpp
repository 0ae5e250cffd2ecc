#include "isa/wave.h"

#include "isa/code_cache.h"

namespace vgpu::isa {

u64 Wave::pc_of(const Inst& inst) const {
  return page->va + static_cast<u64>(&inst - page->slots) * 4;
}

void Wave::jump(u64 target) {
  CodePage* to = code->page(target);
  if (to == nullptr) {
    fault = Fault{};
    fault.va = target;
    fault.pc = target;
    fault.no_permission = memory->translate(target) != nullptr;
    fault.reason = fault.no_permission ? "instruction fetch from memory that is not executable"
                                       : "instruction fetch from memory that is not mapped";
    stop_with(Stop::fault);
    return;
  }
  page = to;
  ip = to->slots + target % kPageSize / 4;
}

}  // namespace vgpu::isa
