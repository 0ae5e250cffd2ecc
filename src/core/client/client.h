// A client's side of the socket: connect, ask, wait for the answer. For the command line, the C API
// and tests; one request at a time.
#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "client/frame.h"

namespace gp::wire {

class Client {
 public:
  // To `path`, or to where socket_path() and second_socket_path() say if it is empty. ENOENT and
  // ECONNREFUSED mean that no daemon runs there.
  static Result<Client> connect(const std::string& path = "");

  // Sends a message and waits for its `result`; a negative one is an Error with the daemon's words.
  template <class T>
  Status ask(T message) {
    message.header.sequence = ++sequence_;
    return ask_bytes(bytes_of(message));
  }
  // Sends a message without content (status, trace) and waits for the text it is answered
  // with; an error for a `result`.
  Result<std::string> text(Kind kind);

  // How long each question may take: ETIMEDOUT then, and the connection is of no use any more.
  Status set_timeout(std::chrono::milliseconds timeout);

  int fd() const { return socket_.get(); }

 private:
  explicit Client(UniqueFd socket) : socket_(std::move(socket)) {}
  Status ask_bytes(std::span<const u8> message);
  struct Reply {
    Header header;
    std::vector<u8> content;  // behind the header
  };
  Result<Reply> receive();

  UniqueFd socket_;
  u32 sequence_ = 0;
};

}  // namespace gp::wire
