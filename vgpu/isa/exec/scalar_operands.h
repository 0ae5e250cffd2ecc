// Reading and writing the operands of scalar arithmetic by width.
#pragma once

#include <type_traits>

#include "isa/exec/operands.h"

namespace vgpu::isa::VGPU_ENGINE {

// A source as T. A literal has 32 bits; a 64-bit operation extends it by zeros, or by the sign if
// it works on signed integers (LLVM turns a 64-bit move into s_mov_b64 with a literal only if the
// value is an unsigned 32-bit one).
template <class T>
T source(const Wave& wave, const Inst& inst, u16 code) {
  if constexpr (sizeof(T) == 4) {
    return static_cast<T>(scalar32(wave, inst, code));
  } else {
    if (code == op_literal) {
      return std::is_signed_v<T> ? static_cast<T>(inst.imm)
                                 : static_cast<T>(static_cast<u32>(inst.imm));
    }
    return static_cast<T>(scalar64(wave, inst, code));
  }
}

template <class T>
void set_destination(Wave& wave, u16 code, T value) {
  if constexpr (sizeof(T) == 4) {
    set_scalar32(wave, code, static_cast<u32>(value));
  } else {
    set_scalar64(wave, code, static_cast<u64>(value));
  }
}

// Most scalar operations set SCC to "the result is not zero".
template <class T>
T nonzero(T result, u8& scc) {
  scc = result != 0;
  return result;
}

}  // namespace vgpu::isa::VGPU_ENGINE
