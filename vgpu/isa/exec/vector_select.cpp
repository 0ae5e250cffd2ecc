// Finds the handler of a vector instruction.
#include <array>

#include "isa/exec/dpp.h"
#include "isa/exec/select.h"
#include "isa/exec/vector_rows.h"

namespace vgpu::isa::VGPU_ENGINE {
namespace {

using Index = std::array<const VectorEntry*, static_cast<std::size_t>(Op::count)>;

Index build_index() {
  Index index{};
  for (const auto& rows :
       {f32_rows(), f64_rows(), f16_rows(), math_rows(), divide_rows(), convert_rows(),
        integer_rows(), bit_rows(), short_rows(), media_rows(), compare_float_rows(),
        compare_integer_rows(), lane_rows(), packed_rows(), mix_rows(), matrix_rows()}) {
    for (const VectorRow& row : rows) {
      index[static_cast<std::size_t>(row.op)] = &row.entry;
    }
  }
  return index;
}

bool has_modifiers(const Inst& inst) {
  return (inst.flags & (inst_sdwa | inst_dpp | inst_clamp)) != 0 || inst.neg != 0 ||
         inst.abs != 0 || inst.omod != 0 || inst.opsel != 0;
}

}  // namespace

Handler VectorEntry::pick(const Inst& inst) const {
  if (has_modifiers(inst)) {
    return general;
  }
  unsigned uniform = 0;
  for (unsigned i = 0; i < 3; ++i) {
    uniform |= static_cast<unsigned>(inst.src[i] != op_none && !is_vector(inst.src[i])) << i;
  }
  return plain[uniform] != nullptr ? plain[uniform] : general;
}

Handler select_vector(const Inst& inst) {
  static const Index index = build_index();
  const VectorEntry* entry = index[static_cast<std::size_t>(inst.op->op)];
  if (entry == nullptr || ((inst.flags & inst_dpp) && !dpp_map(inst.ext).defined)) {
    return nullptr;
  }
  return entry->pick(inst);
}

}  // namespace vgpu::isa::VGPU_ENGINE
