// Calls of the command line to a running server.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "base/result.h"
#include "base/unique_fd.h"
#include "protocol/wire.h"

namespace vgpu::cli {

class Client {
 public:
  // ENODEV: no server answers in that directory.
  static gp::Result<Client> connect(const std::string& directory);

  // Sends `text` and waits for the answer; its text comes as a file, or is empty.
  gp::Result<std::string> call(wire::Kind kind, std::string_view text = "");
  // Asks the server to end and waits until it has. ETIMEDOUT if it does not.
  gp::Status stop(int timeout_ms);

 private:
  explicit Client(gp::UniqueFd socket) : socket_(std::move(socket)) {}
  gp::UniqueFd socket_;
};

}  // namespace vgpu::cli
