#include "llm/http_response.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <utility>

namespace gp::llm {
namespace {

constexpr std::size_t kLongestHead = 64 << 10, kLongestLine = 4096;
constexpr u64 kLongestBody = 64 << 20;
constexpr std::string_view kLineEnd = "\r\n", kHeadEnd = "\r\n\r\n";

Error broken(std::string_view what) {
  return {EPROTO, fmt::format("the server's answer: {}", what), "is it llama-server that listens?"};
}

bool same_word(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) {
    text.remove_prefix(1);
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) {
    text.remove_suffix(1);
  }
  return text;
}

// The whole text, or nothing.
std::optional<u64> number(std::string_view text, int base) {
  u64 value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, base);
  return error == std::errc() && stopped == end && !text.empty() ? std::optional(value)
                                                                 : std::nullopt;
}

// "HTTP/1.1 200 OK"
std::optional<int> status_of(std::string_view line) {
  constexpr std::size_t kVersion = sizeof "HTTP/1.1 " - 1, kDigits = 3;
  const bool fits = line.starts_with("HTTP/1.") && line.size() >= kVersion + kDigits &&
                    (line.size() == kVersion + kDigits || line[kVersion + kDigits] == ' ');
  const auto status = fits ? number(line.substr(kVersion, kDigits), 10) : std::nullopt;
  return status && *status >= 100 ? std::optional(static_cast<int>(*status)) : std::nullopt;
}

}  // namespace

Status HttpResponse::take(std::string_view bytes) {
  unread_.append(bytes);
  while (TRY(step())) {
  }
  return ok();
}

Status HttpResponse::end() {
  if (state_ == State::until_end) {
    state_ = State::complete;
  }
  return is_complete() ? ok() : Status(broken("it ended before it was whole"));
}

std::string HttpResponse::take_body() { return std::exchange(body_, {}); }

Result<bool> HttpResponse::step() {
  switch (state_) {
    case State::head: return read_head();
    case State::chunk_size: return read_chunk_size();
    case State::chunk_end: return read_line_end();
    case State::trailer: return read_trailer();
    case State::length: return read_bytes(State::complete);
    case State::chunk: return read_bytes(State::chunk_end);
    case State::until_end: rest_ = unread_.size() + 1; return read_bytes(State::until_end);
    case State::complete: break;
  }
  return unread_.empty() ? Result<bool>(false) : broken("bytes follow its end");
}

Result<bool> HttpResponse::read_head() {
  const std::size_t end = unread_.find(kHeadEnd);
  if (std::min(end, unread_.size()) > kLongestHead) {
    return broken("its head is too long");
  }
  if (end == std::string::npos) {
    return false;
  }
  TRY(understand_head(std::string_view(unread_).substr(0, end + kLineEnd.size())));
  unread_.erase(0, end + kHeadEnd.size());
  rest_ = length_.value_or(0);
  state_ = chunked_               ? State::chunk_size
           : !length_             ? State::until_end
           : length_.value() == 0 ? State::complete
                                  : State::length;
  return true;
}

Status HttpResponse::understand_head(std::string_view head) {
  for (bool first = true; !head.empty(); first = false) {
    const std::size_t end = head.find(kLineEnd);
    const std::string_view line = head.substr(0, end);
    head.remove_prefix(end + kLineEnd.size());
    if (!first) {
      TRY(understand_field(line));
    } else if (!(status_ = status_of(line))) {
      return broken("it is none of HTTP/1.1");
    }
  }
  return ok();
}

Status HttpResponse::understand_field(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return broken("a line of its head has no name");
  }
  const std::string_view name = line.substr(0, colon), value = trimmed(line.substr(colon + 1));
  if (same_word(name, "Transfer-Encoding")) {
    if (!same_word(value, "chunked")) {
      return broken(fmt::format("it is encoded as {}", value));
    }
    chunked_ = true;
  } else if (same_word(name, "Content-Length")) {
    const auto length = number(value, 10);
    if (!length || *length > kLongestBody || (length_ && length_ != length)) {
      return broken(fmt::format("its length is '{}'", value));
    }
    length_ = length;
  }
  return ok();
}

std::optional<std::string> HttpResponse::next_line() {
  const std::size_t end = unread_.find(kLineEnd);
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = unread_.substr(0, end);
  unread_.erase(0, end + kLineEnd.size());
  return line;
}

Result<bool> HttpResponse::read_chunk_size() {
  const auto line = next_line();
  if (!line) {
    return unread_.size() > kLongestLine ? broken("a chunk without a size") : Result<bool>(false);
  }
  const auto size = number(trimmed(std::string_view(*line).substr(0, line->find(';'))), 16);
  if (!size || *size > kLongestBody) {
    return broken("a chunk without a size");
  }
  rest_ = *size;
  state_ = rest_ > 0 ? State::chunk : State::trailer;
  return true;
}

Result<bool> HttpResponse::read_line_end() {
  if (unread_.size() < kLineEnd.size()) {
    return false;
  }
  if (!unread_.starts_with(kLineEnd)) {
    return broken("a chunk is longer than its size");
  }
  unread_.erase(0, kLineEnd.size());
  state_ = State::chunk_size;
  return true;
}

// Fields after the last chunk mean nothing to us; an empty line ends them.
Result<bool> HttpResponse::read_trailer() {
  const auto line = next_line();
  if (!line) {
    return unread_.size() > kLongestLine ? broken("its last line is too long")
                                         : Result<bool>(false);
  }
  state_ = line->empty() ? State::complete : State::trailer;
  return true;
}

bool HttpResponse::read_bytes(State next) {
  const std::size_t size = std::min<u64>(rest_, unread_.size());
  body_.append(unread_, 0, size);
  unread_.erase(0, size);
  rest_ -= size;
  if (rest_ == 0) {
    state_ = next;
  }
  return rest_ == 0;
}

}  // namespace gp::llm
