#include "bandwidth.h"

#include <algorithm>
#include <chrono>

namespace gp::load {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLeastBytes = std::size_t{1} << 20, kMostBytes = std::size_t{1} << 30;
constexpr double kLongEnoughMs = 2;  // what a launch takes is then little beside it
constexpr int kTimes = 5;

// The GPU's own memory, of which it has one pool that any kernel may use.
hsa_status_t find_own_memory(hsa_amd_memory_pool_t pool, void* data) {
  hsa_amd_segment_t segment{};
  std::uint32_t flags = 0;
  check(hsa().hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment),
        "ask what a memory pool is");
  if (segment != HSA_AMD_SEGMENT_GLOBAL) {
    return HSA_STATUS_SUCCESS;
  }
  check(hsa().hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags),
        "ask what a memory pool is");
  if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_COARSE_GRAINED) == 0) {
    return HSA_STATUS_SUCCESS;
  }
  *static_cast<hsa_amd_memory_pool_t*>(data) = pool;
  return HSA_STATUS_INFO_BREAK;
}

double fill_ms(void* memory, std::size_t bytes) {
  const auto begin = Clock::now();
  check(hsa().hsa_amd_memory_fill(memory, 0, bytes / sizeof(std::uint32_t)), "fill memory");
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double best_fill_ms(void* memory, std::size_t bytes) {
  double best = fill_ms(memory, bytes);
  for (int again = 1; again < kTimes; again++) {
    best = std::min(best, fill_ms(memory, bytes));
  }
  return best;
}

}  // namespace

double fill_gb_per_s(const Gpu& gpu) {
  hsa_amd_memory_pool_t pool{};
  check(hsa().hsa_amd_agent_iterate_memory_pools(gpu.agent, find_own_memory, &pool),
        "list memory pools");
  double gb_per_s = 0;
  for (std::size_t bytes = kLeastBytes; bytes <= kMostBytes; bytes *= 2) {
    void* memory = nullptr;
    if (hsa().hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory) != HSA_STATUS_SUCCESS) {
      break;  // that much is not free: what was measured is good enough
    }
    const double ms = best_fill_ms(memory, bytes);
    hsa().hsa_amd_memory_pool_free(memory);
    gb_per_s = std::max(gb_per_s, static_cast<double>(bytes) / (ms * 1e6));
    if (ms >= kLongEnoughMs) {
      break;
    }
  }
  return gb_per_s;
}

}  // namespace gp::load
