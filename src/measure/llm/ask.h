// A question to llama-server, and when each token of the answer came.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/result.h"
#include "libc/types.h"
#include "llm/completion.h"

namespace gp::llm {

// Whether it listens and has loaded its model.
bool is_ready(const std::string& socket);

struct Answer {
  std::vector<u64> token_ns;  // when each came, CLOCK_MONOTONIC
  std::vector<i64> tokens;
  std::string text;
};

// Waits for the whole answer. ETIMEDOUT if it does not come in time; EREMOTEIO with the server's
// words if it refuses.
Result<Answer> ask(const std::string& socket, const Question& question,
                   std::chrono::milliseconds patience);

}  // namespace gp::llm
