// The engines in this program, one per host instruction set (CMakeLists.txt compiles isa/exec once
// for each; VGPU_HAS_V4 says that v4 is among them). Only engine_select.cpp, which asks the CPU
// what it can run, should include this.
#pragma once

#include "isa/wave.h"

namespace vgpu::isa {

namespace v3 {
const Engine& engine();
}
namespace v4 {
const Engine& engine();
}

}  // namespace vgpu::isa
