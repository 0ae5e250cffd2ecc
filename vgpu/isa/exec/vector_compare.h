// The relations of V_CMP, for any operand type.
#pragma once

#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {

constexpr RowOptions to_exec{.speed = Speed::rare, .writes_exec = true};

// Variables rather than literals in the rows: v_cmp and v_cmpx then share the code.
template <class T>
constexpr auto compare_never = [](T, T) { return false; };
template <class T>
constexpr auto compare_always = [](T, T) { return true; };
template <class T>
constexpr auto compare_lt = [](T a, T b) { return a < b; };
template <class T>
constexpr auto compare_eq = [](T a, T b) { return a == b; };
template <class T>
constexpr auto compare_le = [](T a, T b) { return a <= b; };
template <class T>
constexpr auto compare_gt = [](T a, T b) { return a > b; };
template <class T>
constexpr auto compare_ne = [](T a, T b) { return a != b; };  // also true for NaN
template <class T>
constexpr auto compare_ge = [](T a, T b) { return a >= b; };

// A relation's row and its v_cmpx counterpart.
#define VGPU_COMPARE(name, relation) \
  {Op::v_cmp_##name, vop(relation)}, { Op::v_cmpx_##name, vop<to_exec>(relation) }

}  // namespace vgpu::isa::VGPU_ENGINE
