// What llama-server is asked and what it answers: POST /completion with "stream", answered by
// server-sent events, one per token (llama.cpp, README of its server).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "libc/types.h"

namespace gp::llm {

struct Question {
  std::string prompt;
  u32 tokens = 16;  // of the answer: so many, whatever the model says
  u32 seed = 1;
};

// The body. Every answer is computed anew: what the server remembers of the last one would make two
// like requests differ.
std::string body_of(const Question& question);

// What one event says.
struct Event {
  std::string text;
  std::vector<i64> tokens;
  bool last = false;
};

// A stream of events, taken in as it comes.
class EventStream {
 public:
  // The events that are whole now. EPROTO for what is no event of llama-server; EREMOTEIO with its
  // own words if it says that it failed.
  Result<std::vector<Event>> take(std::string_view bytes);

 private:
  std::string unread_;
};

}  // namespace gp::llm
