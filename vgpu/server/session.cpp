#include "server/session.h"

#include <unistd.h>

#include <cstddef>
#include <span>

#include "base/log.h"
#include "base/socket.h"

namespace vgpu::server {
namespace {

std::span<u8> bytes_of(wire::Request& request) {
  return {reinterpret_cast<u8*>(&request), sizeof request};
}

// Null if the message is what our own programs send, else what is wrong with it.
const char* flaw_of(const wire::Request& request, const Received& message) {
  if (message.size < wire::kRequestHeader || request.magic != wire::kMagic) {
    return "not one of our messages";
  }
  if (request.version != wire::kVersion) {
    return "libvgpu.so and vgpud are of different versions";
  }
  if (message.truncated || request.size > wire::kMaxData ||
      message.size != wire::kRequestHeader + request.size) {
    return "its size is wrong";
  }
  if (message.files.size() > 1) {
    return "it carries several files";
  }
  return handler_of(request.kind) == nullptr ? "its kind is unknown" : nullptr;
}

class Session {
 public:
  Session(Services& services, int socket, std::shared_ptr<Process> process)
      : services_(services), socket_(socket), process_(std::move(process)) {}

  void run() {
    while (serve_one()) {
    }
    if (is_control_) {
      services_.processes.end(process_);  // before the socket's number can be used again
    }
  }

 private:
  bool serve_one() {
    Result<Received> message = receive_message(socket_, bytes_of(request_));
    if (!message || message->size == 0) {
      return false;
    }
    if (const char* flaw = flaw_of(request_, *message)) {
      log_warning("process {}: message refused, connection closed: {}", process_->pid, flaw);
      return false;
    }
    return !process_->ended() && answer(std::move(*message));
  }

  bool answer(Received message) {
    reply_.magic = wire::kMagic;
    reply_.result = 0;
    reply_.size = 0;
    Call call{services_, process_, thread_, socket_, request_, UniqueFd(), reply_, UniqueFd()};
    if (!message.files.empty()) {
      call.passed_fd = std::move(message.files[0]);
    }
    if (handler_of(request_.kind)(call) == Outcome::malformed) {
      log_warning("process {}: call {} refused, connection closed", process_->pid, request_.kind);
      return false;
    }
    is_control_ = is_control_ || request_.kind == wire::kind_attach;
    const std::span<const u8> head(reinterpret_cast<const u8*>(&reply_),
                                   wire::kReplyHeader + reply_.size);
    const int file = call.reply_fd.get();
    return static_cast<bool>(file < 0 ? send_message(socket_, head)
                                      : send_message(socket_, head, {}, {&file, 1}));
  }

  Services& services_;
  const int socket_;
  const std::shared_ptr<Process> process_;
  PeerThread thread_;
  bool is_control_ = false;
  wire::Request request_;
  wire::Reply reply_;
};

}  // namespace

void serve_connection(Services& services, int socket) {
  Result<PeerIdentity> peer = identify_peer(socket);
  if (!peer || peer->pid <= 0) {
    log_warning("connection refused: the client's pid is not visible from here (pid namespace)");
    return;
  }
  if (peer->uid != ::geteuid() && peer->uid != 0) {
    log_warning("connection of process {} refused: it belongs to user {}", peer->pid, peer->uid);
    return;
  }
  Result<std::shared_ptr<Process>> process =
      services.processes.enter(peer->pid, std::move(peer->pidfd));
  if (process) {
    Session(services, socket, std::move(*process)).run();
  }
}

}  // namespace vgpu::server
