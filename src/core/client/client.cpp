#include "client/client.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>

#include "base/socket.h"
#include "wire/socket_path.h"

namespace gp::wire {
namespace {

Status status_of(std::span<const u8> content, const Header& header) {
  ResultMessage result;
  if (header.size != sizeof result) {
    return Error{EPROTO, "the daemon's answer has the wrong length", ""};
  }
  std::memcpy(reinterpret_cast<u8*>(&result) + sizeof header, content.data(), content.size());
  if (result.error == 0) {
    return ok();
  }
  const std::string_view text = text_of(result.text);
  const std::size_t end = std::min(text.find('\n'), text.size());
  return Error{result.error < 0 ? -result.error : EPROTO, std::string(text.substr(0, end)),
               std::string(text.substr(std::min(end + 1, text.size())))};
}

}  // namespace

Result<Client> Client::connect(const std::string& path) {
  std::string where = path;
  if (where.empty()) {
    where.resize(kSocketPathBytes);
    if (!socket_path(where.data(), kSocketPathBytes)) {
      return Error{ENAMETOOLONG, "GPREEMPT_SOCKET", ""};
    }
    where.resize(where.find('\0'));
  }
  auto socket = connect_to(where);
  const char* second = path.empty() ? second_socket_path() : nullptr;
  if (!socket && second != nullptr &&
      (socket.error().code == ENOENT || socket.error().code == ECONNREFUSED)) {
    socket = connect_to(second);
  }
  if (!socket) {
    return std::move(socket.error())
        .with_hint(
            "is gpreemptd running? --socket or GPREEMPT_SOCKET "
            "name another one");
  }
  return Client(std::move(*socket));
}

Status Client::set_timeout(std::chrono::milliseconds timeout) {
  const timeval time = {timeout.count() / 1000, timeout.count() % 1000 * 1000};
  for (const int option : {SO_RCVTIMEO, SO_SNDTIMEO}) {
    if (::setsockopt(socket_.get(), SOL_SOCKET, option, &time, sizeof time) != 0) {
      return Error{errno, "limit the time of a socket", ""};
    }
  }
  return ok();
}

Result<Client::Reply> Client::receive() {
  std::vector<u8> buffer(kMaxMessage);
  auto answer = receive_message(socket_.get(), buffer);
  if (!answer && answer.error().code == EAGAIN) {
    return Error{ETIMEDOUT, "the daemon does not answer", "gpreempt status"};
  }
  const Received received = TRY(std::move(answer));
  if (received.size == 0) {
    return Error{ECONNRESET, "the daemon has closed the connection", ""};
  }
  const auto header = header_of({buffer.data(), received.size});
  if (!header || received.truncated) {
    return Error{EPROTO, "the daemon speaks another language", "are both of one version?"};
  }
  return Reply{*header,
               {buffer.begin() + sizeof(Header),
                buffer.begin() + static_cast<std::ptrdiff_t>(received.size)}};
}

Status Client::ask_bytes(std::span<const u8> message) {
  TRY(send_message(socket_.get(), message));
  for (;;) {
    const Reply reply = TRY(receive());
    if (reply.header.kind == Kind::result && reply.header.sequence == sequence_) {
      return status_of(reply.content, reply.header);
    }
  }
}

Result<std::string> Client::text(Kind kind) {
  Header header{.kind = kind, .size = sizeof(Header), .sequence = ++sequence_};
  TRY(send_message(socket_.get(), bytes_of(header)));
  std::string text;
  for (;;) {
    const Reply reply = TRY(receive());
    if (reply.header.sequence != sequence_) {
      continue;
    }
    if (reply.header.kind == Kind::result) {
      TRY(status_of(reply.content, reply.header));
      return text;
    }
    text.append(reinterpret_cast<const char*>(reply.content.data()), reply.content.size());
    if (reply.content.size() < kTextPerMessage) {
      return text;
    }
  }
}

}  // namespace gp::wire
