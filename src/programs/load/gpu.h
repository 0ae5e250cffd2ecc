// One GPU: its memory that the host sees as well, and the kernels in the code object that fits it.
#pragma once

#include <cstdint>
#include <string>

#include "expected.h"
#include "hsa_api.h"

namespace gp::load {

struct Kernel {
  KernelKind kind;
  std::uint64_t object;
  std::uint32_t private_size, group_size;
};

class Gpu {
 public:
  // The Nth GPU that ROCr shows, or the one of a KFD node if `node` is not negative. Ends the
  // program with status 3 if it is not there, 5 if there is no code for it.
  Gpu(unsigned index, int node);

  // Zeroed memory of the host that this GPU sees; never freed.
  template <typename T>
  T* shared(std::size_t count) const {
    return static_cast<T*>(allocate(host_memory_, count * sizeof(T)));
  }
  void* kernel_arguments(std::size_t bytes) const { return allocate(argument_memory_, bytes); }
  // Ends the program with status 2 if there is no kernel of this name.
  const Kernel& kernel(const std::string& name) const;

  hsa_agent_t agent{};
  std::string target;  // "gfx942"
  std::uint32_t node = 0, compute_units = 0;

 private:
  void find_agent(unsigned index, int node);
  void find_memory();
  void load_kernels();
  void* allocate(hsa_amd_memory_pool_t pool, std::size_t bytes) const;

  hsa_agent_t cpu_{};
  hsa_amd_memory_pool_t host_memory_{}, argument_memory_{};
  Kernel kernels_[std::size(kKernels)]{};
};

}  // namespace gp::load
