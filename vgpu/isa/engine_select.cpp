// Which of the compiled engines this CPU can run.
#include <cstring>

#include "isa/engine_list.h"

namespace vgpu::isa {
namespace {

// What the x86-64-v3 and -v4 levels add that executors may use (psABI, "Micro-Architecture
// Levels"). The CPU also needs the operating system to save the registers; the builtin checks.
bool supports_v3() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
         __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
}

#ifdef VGPU_HAS_V4
bool supports_v4() {
  return supports_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

}  // namespace

const Engine* engine_named(const char* name) {
#ifdef VGPU_HAS_V4
  if (std::strcmp(name, "v4") == 0) {
    return supports_v4() ? &v4::engine() : nullptr;
  }
#endif
#ifdef VGPU_HAS_V3
  if (std::strcmp(name, "v3") == 0) {
    return supports_v3() ? &v3::engine() : nullptr;
  }
#endif
  return nullptr;
}

const Engine* host_engine() {
  const Engine* best = engine_named("v4");
  return best != nullptr ? best : engine_named("v3");
}

}  // namespace vgpu::isa
