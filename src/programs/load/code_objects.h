// The kernels of this program, compiled for each of GPREEMPT_GPU_TARGETS (cmake/GpuTargets.cmake).
#pragma once

#include <span>

namespace gp::load {

struct CodeObject {
  const char* target;  // "gfx942"
  const char* begin;
  const char* end;
};

std::span<const CodeObject> code_objects();

}  // namespace gp::load
