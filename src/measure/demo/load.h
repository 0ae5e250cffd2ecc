// How much work the demo gives the GPU.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace gp::demo {

struct Load {
  std::chrono::milliseconds duration{};      // of a round of each phase
  std::vector<std::string> trainer, server;  // their arguments
};

// Kernels of some tens of milliseconds for the trainer, of less than one for the server, on either
// kind of GPU. Requests arrive independently of each other (Poisson), the same in every run.
Load load_for(bool virtual_gpu, std::chrono::milliseconds duration);

}  // namespace gp::demo
