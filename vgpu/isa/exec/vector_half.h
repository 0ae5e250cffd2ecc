// Half-precision operations on one lane, shared by the scalar and the packed forms.
#pragma once

#include "isa/exec/vector_float.h"

namespace vgpu::isa::VGPU_ENGINE {

// A half as it stands in the register. Operations that tell signalling NaNs apart take Raw<half>,
// since
// the conversion of `half` operands quiets them.
inline float exact_half(Raw<half> a, const Mode& mode) {
  return half_to_float(mode.flush_in64 ? flush_half(a.bits) : a.bits);
}

inline half minimum_f16(Raw<half> a, Raw<half> b, const Mode& m) {
  return half(minimum(exact_half(a, m), exact_half(b, m), m));
}
inline half maximum_f16(Raw<half> a, Raw<half> b, const Mode& m) {
  return half(maximum(exact_half(a, m), exact_half(b, m), m));
}

}  // namespace vgpu::isa::VGPU_ENGINE
