// How much work the demo gives the GPU.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "demo/llama_server.h"

namespace gp::demo {

struct Load {
  bool virtual_gpu = false;
  std::chrono::milliseconds duration{};      // of a round of each phase
  std::vector<std::string> trainer, server;  // their arguments
  // The undisturbed training that all others are compared with is so much longer, so that its
  // results cover their steps: they go on while the server starts.
  std::chrono::milliseconds longer = std::chrono::seconds(3);
  // Is the server, if it is one; its client is told how many requests, how long to pause between
  // them, and how many tokens an answer has.
  std::optional<LlamaServer> llama = {};
  std::vector<std::string> llama_client = {};
};

// Kernels of some tens of milliseconds for the trainer, of less than one for the server, on either
// kind of GPU. Requests arrive independently of each other (Poisson), the same in every run.
Load load_for(bool virtual_gpu, std::chrono::milliseconds duration);

// The same trainer beside a llama-server, whose one user asks, reads, thinks for about as long
// as two answers take, and asks again. What is measured is a number of requests: a phase lasts as
// long as they take, about `duration` if they have the GPU to themselves.
Load load_with(LlamaServer llama, bool virtual_gpu, std::chrono::milliseconds duration);

}  // namespace gp::demo
