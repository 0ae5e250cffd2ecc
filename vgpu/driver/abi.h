// The KFD interface under the short name abi. The alias is needed because <cxxabi.h> puts a global
// namespace of that name beside gp::abi.
#pragma once

#include "abi/early.h"
#include "abi/kfd.h"
#include "abi/kfd_preempt.h"
#include "memory/page_table.h"

namespace vgpu::driver {
namespace abi = gp::abi;
}
