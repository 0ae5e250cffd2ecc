#include "cli/client.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/socket.h"

namespace vgpu::cli {
namespace {

using gp::Error;
using gp::Result;
using gp::Status;

Result<std::string> read_whole(int fd) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0) {
      return Error{errno, "read the answer of vgpud", ""};
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

// An error's text: what failed, and on a second line what to do about it.
Error error_of(const wire::Reply& reply) {
  const std::string text(reinterpret_cast<const char*>(reply.data), reply.size);
  const std::size_t line = text.find('\n');
  return Error{-reply.result, text.substr(0, line),
               line == std::string::npos ? "" : text.substr(line + 1)};
}

Error lost() { return Error{ENODEV, "vgpud went away", "its log may say why"}; }

}  // namespace

Result<Client> Client::connect(const std::string& directory) {
  Result<gp::UniqueFd> socket = gp::connect_to(directory + "/" + wire::kSocketName);
  if (!socket) {
    const int code = socket.error().code;
    return Error{code == ENOENT || code == ECONNREFUSED ? ENODEV : code,
                 "no virtual GPU is running in " + directory, "see vgpu list"};
  }
  return Client(std::move(*socket));
}

Result<std::string> Client::call(wire::Kind kind, std::string_view text) {
  wire::Request request;
  if (text.size() > sizeof request.data) {
    return Error{E2BIG, "the request", ""};
  }
  request.kind = kind;
  request.tid = static_cast<gp::i32>(::syscall(SYS_gettid));
  request.size = static_cast<gp::u32>(text.size());
  std::memcpy(request.data, text.data(), text.size());
  const auto* bytes = reinterpret_cast<const gp::u8*>(&request);
  if (!gp::send_message(socket_.get(), {bytes, wire::kRequestHeader + request.size})) {
    return lost();
  }
  wire::Reply reply;
  Result<gp::Received> answer =
      gp::receive_message(socket_.get(), {reinterpret_cast<gp::u8*>(&reply), sizeof reply});
  if (!answer || answer->size < wire::kReplyHeader ||
      answer->size != wire::kReplyHeader + reply.size || reply.magic != wire::kMagic) {
    return lost();
  }
  if (reply.result < 0) {
    return error_of(reply);
  }
  return answer->files.empty() ? std::string() : read_whole(answer->files[0].get());
}

Status Client::stop(int timeout_ms) {
  const gp::PeerIdentity server = TRY(gp::identify_peer(socket_.get()));
  const Result<std::string> answer = call(wire::kind_stop);
  // A server that has ended before it could answer has done what was asked.
  if (!answer && answer.error().code != ENODEV) {
    return answer.error();
  }
  pollfd gone = {server.pidfd.get(), POLLIN, 0};
  if (server.pidfd && ::poll(&gone, 1, timeout_ms) == 0) {
    return Error{ETIMEDOUT, fmt::format("vgpud (pid {}) does not stop", server.pid),
                 fmt::format("kill -9 {}", server.pid)};
  }
  return gp::ok();
}

}  // namespace vgpu::cli
