#include "llm/completion.h"

#include <fmt/format.h>

#include <cerrno>
#include <nlohmann/json.hpp>

namespace gp::llm {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestEvent = 1 << 20;
constexpr std::string_view kData = "data:", kError = "error:";

Error not_a_token(std::string_view line) {
  constexpr std::size_t kShown = 120;
  return {EPROTO, fmt::format("llama-server said what is no token: {}", line.substr(0, kShown)),
          "this version may be too old or too new: gpreempt knows POST /completion with stream"};
}

Result<Event> understand(std::string_view data) {
  const json event = json::parse(data, nullptr, false);
  if (event.is_object() && event.contains("error")) {
    return Error{EREMOTEIO, fmt::format("llama-server: {}", event["error"].dump()), ""};
  }
  try {
    return Event{event.at("content").get<std::string>(), event.value("tokens", std::vector<i64>()),
                 event.at("stop").get<bool>()};
  } catch (const json::exception&) {  // what the library says of missing and wrong fields ends here
    return not_a_token(data);
  }
}

}  // namespace

std::string body_of(const Question& question) {
  return json{{"prompt", question.prompt}, {"n_predict", question.tokens},
              {"seed", question.seed},     {"temperature", 0.8},
              {"ignore_eos", true},        {"cache_prompt", false},
              {"return_tokens", true},     {"stream", true}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

Result<std::vector<Event>> EventStream::take(std::string_view bytes) {
  unread_.append(bytes);
  std::vector<Event> events;
  for (std::size_t end; (end = unread_.find('\n')) != std::string::npos;) {
    std::string line = unread_.substr(0, end);
    unread_.erase(0, end + 1);
    if (line.ends_with('\r')) {
      line.pop_back();
    }
    const std::string_view text = line;
    if (text.starts_with(kData)) {
      events.push_back(TRY(understand(text.substr(kData.size()))));
    } else if (text.starts_with(kError)) {
      return Error{EREMOTEIO, fmt::format("llama-server: {}", text.substr(kError.size())), ""};
    } else if (!text.empty() && !text.starts_with(':')) {  // a comment keeps a connection alive
      return not_a_token(text);
    }
  }
  if (unread_.size() > kLongestEvent) {
    return not_a_token(unread_);
  }
  return events;
}

}  // namespace gp::llm
