// `gpreempt demo`: two workloads share a GPU, without and with gpreempt. Under two minutes, nothing
// left behind.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/programs.h"
#include "report/results.h"

namespace gp::demo {

// What `--llm` asks for: llama-server is the online program.
struct LlmOptions {
  std::string llama_server;  // the program
  std::string model;         // empty: a small one is made
};

struct Options {
  std::chrono::milliseconds duration = std::chrono::seconds(15);  // of each phase, in all rounds
  unsigned rounds = 3;                                            // at least 1
  std::string socket;    // of a daemon that runs already; empty: the usual one, or one of our own
  int end_signals = -1;  // readable when the user wants to end
  std::optional<LlmOptions> llm = {};
};

// Whether this process runs on a virtual GPU, and whether there is any GPU at all.
bool on_virtual_gpu();
bool has_gpu();

// Replaces this process by one on a virtual GPU that ends with it and leaves a CPU to the programs.
// `words` follow "gpreempt". `device_options` are those of `vgpu run`. Returns only if that fails.
Error enter_virtual_gpu(const Programs& programs, const std::vector<std::string>& words,
                        const std::vector<std::string>& device_options = {});

// All phases, by turns: a part of each in every round; disturbed rounds again. Whatever was started
// has ended when this returns. EINTR if the user ended it.
Result<report::Results> run(const Programs& programs, const Options& options);

}  // namespace gp::demo
