// A language model of random weights, small enough for a virtual GPU: architecture "llama", F16. It
// says nothing that makes sense, but says it as any model does, token after token, and what it says
// depends on every weight. The same seed gives the same file everywhere.
#pragma once

#include <string>

#include "base/result.h"
#include "libc/types.h"

namespace gp::llm {

struct TinyModel {
  u32 width = 64;  // of a token's vector; a multiple of 64, that of one attention head
  u32 layers = 1;
  u32 seed = 1;
};

// As a GGUF file. EINVAL if the width is none.
Result<std::string> gguf_of(const TinyModel& model);

}  // namespace gp::llm
