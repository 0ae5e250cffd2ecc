// V_CMP and V_CMPX on integers.
#include "isa/exec/vector_compare.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

#define VGPU_COMPARES(name, type)                                                           \
  VGPU_COMPARE(f_##name, compare_never<type>), VGPU_COMPARE(lt_##name, compare_lt<type>),   \
      VGPU_COMPARE(eq_##name, compare_eq<type>), VGPU_COMPARE(le_##name, compare_le<type>), \
      VGPU_COMPARE(gt_##name, compare_gt<type>), VGPU_COMPARE(ne_##name, compare_ne<type>), \
      VGPU_COMPARE(ge_##name, compare_ge<type>), VGPU_COMPARE(t_##name, compare_always<type>)

constexpr VectorRow kRows[] = {
    VGPU_COMPARES(i16, i16), VGPU_COMPARES(u16, u16), VGPU_COMPARES(i32, i32),
    VGPU_COMPARES(u32, u32), VGPU_COMPARES(i64, i64), VGPU_COMPARES(u64, u64),
};

}  // namespace

std::span<const VectorRow> compare_integer_rows() { return kRows; }

}  // namespace vgpu::isa::VGPU_ENGINE
