// llama-server as an online program, unmodified, as it is installed: found, looked at, and started.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "demo/child.h"
#include "demo/scratch_directory.h"
#include "demo/waiter.h"

namespace gp::demo {

// The program of that name or path, or the one in PATH if the name is empty: an absolute path.
// ENOENT names the packages.
Result<std::string> find_llama_server(const std::string& named);

struct LlamaServer {
  std::string program, model;                                    // absolute paths
  std::string version;                                           // as it says itself
  std::chrono::milliseconds patience = std::chrono::minutes(3);  // until it is ready
};

// Asks it what it is and which GPUs it finds. ENOTSUP if it would compute on the CPU. Without a
// model, a small one is made in the scratch directory.
Result<LlamaServer> examine_llama_server(const std::string& program, const std::string& model,
                                         const ScratchDirectory& scratch, const Waiter& waiter);

// The words to start it with: on one GPU, for one user, listening on this socket.
std::vector<std::string> words_of(const LlamaServer& server, const std::string& socket);
// Settings in its environment: one that is too old to know them does without.
std::map<std::string, std::string> environment_for(bool virtual_gpu);

// Returns when it answers. An error with its own last words if it ends before or never does.
Status wait_until_ready(const LlamaServer& server, Child& child, const std::string& socket,
                        const std::vector<Child*>& beside, const Waiter& waiter);

}  // namespace gp::demo
