// An answer of an HTTP/1.1 server (RFC 9112), taken in as it comes: its status, and its body piece
// by piece, whether it comes in chunks, with a length, or until the connection ends. What breaks
// the rules is an error, however it was cut, and no answer makes us keep more than a limit.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "libc/types.h"

namespace gp::llm {

class HttpResponse {
 public:
  // The next bytes of the connection. EPROTO if they cannot be.
  Status take(std::string_view bytes);
  // The connection has ended. EPROTO if something is missing.
  Status end();

  bool is_complete() const { return state_ == State::complete; }
  // Known once the head is there.
  std::optional<int> status() const { return status_; }
  // What came of the body since the last call.
  std::string take_body();

 private:
  enum class State { head, length, until_end, chunk_size, chunk, chunk_end, trailer, complete };

  // Each goes one step on with what is unread; false if it needs more.
  Result<bool> step();
  Result<bool> read_head();
  Result<bool> read_chunk_size();
  Result<bool> read_line_end();
  Result<bool> read_trailer();
  bool read_bytes(State next);
  Status understand_head(std::string_view head);
  Status understand_field(std::string_view line);
  std::optional<std::string> next_line();

  State state_ = State::head;
  std::string unread_, body_;
  std::optional<int> status_;
  std::optional<u64> length_;
  bool chunked_ = false;
  u64 rest_ = 0;  // of this chunk, or of the body
};

}  // namespace gp::llm
