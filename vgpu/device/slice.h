// How long a work-group runs before others have their turn, in retired instructions.
#pragma once

#include "memory/page_table.h"

namespace vgpu::device {

constexpr u64 kSliceInstructions = 32'768;

}  // namespace vgpu::device
