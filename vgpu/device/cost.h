// What hardware needs to save or restore waves: a fixed part (interrupting the waves, the trap
// handler, the scheduler firmware) and the traffic. Estimates, not measurements: the fixed part is
// the order of magnitude of published preemption latencies, the bandwidth is half of the data
// sheet's peak (MI210 1.6 TB/s, MI300X 5.3 TB/s), because the trap handlers store dword by dword.
#pragma once

#include "device/gpu.h"

namespace vgpu::device {

struct PreemptionCost {
  u64 fixed_ns;
  u64 bytes_per_us;
};

constexpr PreemptionCost preemption_cost(CostModel model) {
  switch (model) {
    case CostModel::mi210: return {30'000, 800'000};
    case CostModel::mi300x: return {30'000, 2'650'000};
    case CostModel::none: break;
  }
  return {0, 0};
}

// Time to move `bytes` of wave state; 0 if there is none.
constexpr u64 preemption_ns(CostModel model, u64 bytes) {
  const PreemptionCost cost = preemption_cost(model);
  return bytes == 0 || cost.bytes_per_us == 0 ? 0
                                              : cost.fixed_ns + bytes * 1000 / cost.bytes_per_us;
}

}  // namespace vgpu::device
