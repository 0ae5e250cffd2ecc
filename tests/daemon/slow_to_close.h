// A descriptor for somebody else to close: a TCP socket with SO_LINGER and data that nobody reads.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>
#include <span>

#include "base/unique_fd.h"
#include "libc/types.h"

namespace gp::daemon {

class SlowToClose {
 public:
  SlowToClose() {
    const UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size);
    ::listen(listener.get(), 1);
    ::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size);
    sender_.reset(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ::connect(sender_.get(), reinterpret_cast<sockaddr*>(&address), size);
    reader_.reset(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger wait = {1, 60};
    ::setsockopt(sender_.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait);
    const char data[4096] = {};
    while (::send(sender_.get(), data, sizeof data, MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
  }
  // Sends it with a message; whoever has that has the last one from now on. If it cannot be sent,
  // it is ours, and slow no more.
  void send_to(int socket, std::span<const u8> bytes);
  SlowToClose(const SlowToClose&) = delete;
  SlowToClose& operator=(const SlowToClose&) = delete;

 private:
  UniqueFd sender_, reader_;
};

// False: the kernel refuses to.
inline bool send_with_files(int socket, std::span<const u8> bytes, std::span<const int> files) {
  alignas(cmsghdr) char room[CMSG_SPACE(8 * sizeof(int))] = {};
  iovec part = {const_cast<u8*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_SPACE(files.size_bytes());
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(files.size_bytes());
  std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) >= 0;
}

inline void SlowToClose::send_to(int socket, std::span<const u8> bytes) {
  const int files[] = {sender_.get()};
  if (!send_with_files(socket, bytes, files)) {
    const linger at_once = {1, 0};
    ::setsockopt(sender_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  sender_.reset();
}

}  // namespace gp::daemon
