#include "isa/exec/memory.h"

namespace vgpu::isa::VGPU_ENGINE {

Handler select_typed_buffer(const Inst&) { return nullptr; }

}  // namespace vgpu::isa::VGPU_ENGINE
