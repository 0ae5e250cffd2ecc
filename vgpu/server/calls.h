// The calls a client can make, one handler per kind, in one table.
#pragma once

#include <functional>
#include <memory>

#include "base/unique_fd.h"
#include "driver/driver.h"
#include "protocol/device_options.h"
#include "protocol/wire.h"
#include "server/peer.h"
#include "server/processes.h"

namespace vgpu::server {

// What handlers may use. Shared by all sessions; outlives them.
struct Services {
  driver::Driver& driver;
  const protocol::DeviceDescription& device;
  Processes& processes;
  std::function<void()> request_stop;
  // Runs `body` with the socket on a thread of its own, which ends when the socket is shut down.
  std::function<void(UniqueFd socket, std::function<void(int)> body)> spawn;
};

// One call, from the request as received to the reply as sent.
struct Call {
  Services& services;
  const std::shared_ptr<Process>& process;
  PeerThread& thread;
  int socket;  // the connection it came on
  const wire::Request& request;
  UniqueFd passed_fd;  // came with the request
  wire::Reply& reply;
  UniqueFd reply_fd;  // goes with the reply

  std::string_view text() const {
    return {reinterpret_cast<const char*>(request.data), request.size};
  }
  void fail(const Error& error);  // result and, for people, the text
};

enum class Outcome {
  reply,      // send the reply
  malformed,  // not a message our own programs send: close the connection
};
using Handler = Outcome (*)(Call& call);

// Null: no such kind.
Handler handler_of(u32 kind);

}  // namespace vgpu::server
