#include "llm/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "libc/clock.h"
#include "llm/http_call.h"

namespace gp::llm {
namespace {

constexpr int kOk = 200;
constexpr std::size_t kShown = 300;  // of what a server says that refuses

void add(const Event& event, u64 now_ns, Answer& answer) {
  answer.text += event.text;
  answer.tokens.insert(answer.tokens.end(), event.tokens.begin(), event.tokens.end());
  if (!event.last || !event.text.empty()) {  // the last one is a summary, mostly
    answer.token_ns.push_back(now_ns);
  }
}

}  // namespace

bool is_ready(const std::string& socket) {
  constexpr std::chrono::seconds kPatience{2};
  const auto status =
      http_call(socket, {"/health", ""}, kPatience, [](int, std::string_view) { return ok(); });
  return status && *status == kOk;
}

Result<Answer> ask(const std::string& socket, const Question& question,
                   std::chrono::milliseconds patience) {
  Answer answer;
  EventStream stream;
  std::string refusal;
  bool is_whole = false;
  const auto take = [&](int status, std::string_view part) -> Status {
    if (status != kOk) {
      refusal.append(part.substr(0, kShown - std::min(kShown, refusal.size())));
      return ok();
    }
    for (const Event& event : TRY(stream.take(part))) {
      add(event, monotonic_ns(), answer);
      is_whole |= event.last;
    }
    return ok();
  };
  const int status = TRY(http_call(socket, {"/completion", body_of(question)}, patience, take));
  if (status != kOk) {
    return Error{EREMOTEIO, fmt::format("llama-server refuses (HTTP {}): {}", status, refusal), ""};
  }
  if (!is_whole || answer.token_ns.empty()) {
    return Error{EPROTO, "llama-server's answer has no end, or no token", ""};
  }
  return answer;
}

}  // namespace gp::llm
