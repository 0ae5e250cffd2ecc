#include "llm/http_call.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/unique_fd.h"
#include "llm/http_response.h"

namespace gp::llm {
namespace {

using std::chrono::steady_clock;

class Connection {
 public:
  static Result<Connection> open(const std::string& socket, steady_clock::time_point deadline) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (socket.size() >= sizeof address.sun_path) {
      return Error{ENAMETOOLONG, fmt::format("connect to {}", socket), "a shorter TMPDIR"};
    }
    std::memcpy(address.sun_path, socket.data(), socket.size());
    UniqueFd file(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!file ||
        ::connect(file.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      return Error{errno, fmt::format("connect to {}", socket), ""};
    }
    return Connection(std::move(file), deadline);
  }

  Status send(std::string_view bytes) {
    while (!bytes.empty()) {
      TRY(wait(POLLOUT));
      const ssize_t sent = ::send(file_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        return Error{errno, "send a request", ""};
      }
      bytes.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
    return ok();
  }

  // Empty at the end of the connection.
  Result<std::string> receive() {
    char buffer[16 << 10];
    for (;;) {
      TRY(wait(POLLIN));
      const ssize_t got = ::recv(file_.get(), buffer, sizeof buffer, 0);
      if (got >= 0) {
        return std::string(buffer, static_cast<std::size_t>(got));
      }
      if (errno != EAGAIN && errno != EINTR) {
        return Error{errno, "receive an answer", ""};
      }
    }
  }

 private:
  Connection(UniqueFd file, steady_clock::time_point deadline)
      : file_(std::move(file)), deadline_(deadline) {}

  Status wait(short events) const {
    for (;;) {
      const auto left =
          std::chrono::ceil<std::chrono::milliseconds>(deadline_ - steady_clock::now());
      pollfd ready{file_.get(), events, 0};
      const int count = left.count() > 0 ? ::poll(&ready, 1, static_cast<int>(left.count())) : 0;
      if (count > 0) {
        return ok();
      }
      if (count == 0) {
        return Error{ETIMEDOUT, "wait for the server's answer", "is the machine very busy?"};
      }
      if (errno != EINTR) {
        return Error{errno, "wait for the server's answer", ""};
      }
    }
  }

  UniqueFd file_;
  steady_clock::time_point deadline_;
};

std::string text_of(const HttpRequest& request) {
  const char* const method = request.body.empty() ? "GET" : "POST";
  return fmt::format(
      "{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
      method, request.path, request.body.size(), request.body);
}

}  // namespace

Result<int> http_call(const std::string& socket, const HttpRequest& request,
                      std::chrono::milliseconds patience,
                      const std::function<Status(int status, std::string_view part)>& take) {
  Connection connection = TRY(Connection::open(socket, steady_clock::now() + patience));
  TRY(connection.send(text_of(request)));
  HttpResponse response;
  while (!response.is_complete()) {
    const std::string bytes = TRY(connection.receive());
    TRY(bytes.empty() ? response.end() : response.take(bytes));
    if (const std::string body = response.take_body(); !body.empty()) {
      TRY(take(*response.status(), body));
    }
  }
  return *response.status();
}

}  // namespace gp::llm
