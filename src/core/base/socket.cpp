#include "base/socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77  // Linux 6.5, asm-generic/socket.h
#endif

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83  // Linux 6.16, asm-generic/socket.h
#endif

namespace gp {
namespace {

constexpr std::size_t kMaxPassed = 4;

Error failure(const std::string& what) { return Error{errno, what, ""}; }

// An address for `path`; `directory` keeps /proc/self/fd/N valid while the address is used.
struct Address {
  sockaddr_un value{};
  UniqueFd directory;
};

Result<Address> address_of(const std::string& path) {
  Address address;
  address.value.sun_family = AF_UNIX;
  std::string name = path;
  if (name.size() >= sizeof(address.value.sun_path)) {
    const std::size_t slash = path.rfind('/');
    const std::string parent = slash == std::string::npos ? "." : path.substr(0, slash);
    address.directory.reset(::open(parent.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!address.directory) {
      return failure(parent);
    }
    name = "/proc/self/fd/" + std::to_string(address.directory.get()) + "/" +
           path.substr(slash == std::string::npos ? 0 : slash + 1);
    if (name.size() >= sizeof(address.value.sun_path)) {
      return Error{ENAMETOOLONG, path, ""};
    }
  }
  std::memcpy(address.value.sun_path, name.c_str(), name.size() + 1);
  return address;
}

Result<UniqueFd> seqpacket() {
  UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!fd) {
    return failure("socket");
  }
  return fd;
}

}  // namespace

Result<UniqueFd> listen_on(const std::string& path) {
  UniqueFd fd = TRY(seqpacket());
  const Address address = TRY(address_of(path));
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.value), sizeof address.value)) {
    return failure("bind " + path);
  }
  if (::listen(fd.get(), SOMAXCONN)) {
    return failure("listen on " + path);
  }
  return fd;
}

Result<UniqueFd> connect_to(const std::string& path) {
  UniqueFd fd = TRY(seqpacket());
  const Address address = TRY(address_of(path));
  while (::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address.value),
                   sizeof address.value)) {
    if (errno != EINTR) {
      return failure("connect to " + path);
    }
  }
  return fd;
}

Result<UniqueFd> accept_from(int listener) {
  UniqueFd fd(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (!fd) {
    return failure("accept");
  }
  return fd;
}

Result<PeerIdentity> identify_peer(int socket) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size)) {
    return failure("SO_PEERCRED");
  }
  PeerIdentity peer{credentials.pid, credentials.uid, credentials.gid, UniqueFd()};
  int pidfd = -1;
  size = sizeof pidfd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0) {
    peer.pidfd.reset(pidfd);
  } else if (errno == ENOPROTOOPT && peer.pid > 0) {
    // Before Linux 6.5. The process has normally not ended yet; should it have, the pid may be
    // another's, of whoever: what depends on it compares the owners, too.
    peer.pidfd.reset(static_cast<int>(::syscall(SYS_pidfd_open, peer.pid, 0)));
  }
  return peer;
}

Status send_message(int socket, std::span<const u8> head, std::span<const u8> data,
                    std::span<const int> files) {
  if (files.size() > kMaxPassed) {
    return Error{EINVAL, "send", "too many files"};
  }
  iovec parts[2] = {{const_cast<u8*>(head.data()), head.size()},
                    {const_cast<u8*>(data.data()), data.size()}};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassed * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = data.empty() ? 1 : 2;
  if (!files.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(files.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(files.size_bytes());
    std::memcpy(CMSG_DATA(header), files.data(), files.size_bytes());
  }
  while (::sendmsg(socket, &message, MSG_NOSIGNAL) < 0) {
    if (errno != EINTR) {
      return failure("send");
    }
  }
  return ok();
}

Result<Received> receive_message(int socket, std::span<u8> buffer) {
  iovec part = {buffer.data(), buffer.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxPassed * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t size = 0;
  while ((size = ::recvmsg(socket, &message, MSG_CMSG_CLOEXEC)) < 0) {
    if (errno != EINTR) {
      return failure("receive");
    }
  }
  Received received;
  received.size = static_cast<std::size_t>(size);
  received.truncated = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      received.files.emplace_back(fd);
    }
  }
  return received;
}

bool refuse_files(int socket) {
  const int off = 0;
  return ::setsockopt(socket, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof off) == 0;
}

Result<Received> receive_without_files(int socket, std::span<u8> buffer, bool look_first) {
  iovec part = {buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  // Without room for them, descriptors show as MSG_CTRUNC (scm_recv() of the kernel).
  for (int flags = look_first ? MSG_PEEK : 0;; flags = 0) {
    ssize_t size = 0;
    while ((size = ::recvmsg(socket, &message, flags)) < 0) {
      if (errno != EINTR) {
        return failure("receive");
      }
    }
    const bool truncated = message.msg_flags & (MSG_TRUNC | MSG_CTRUNC);
    if (flags == 0 || truncated || size == 0) {
      return Received{static_cast<std::size_t>(size), truncated, {}};
    }
    message.msg_flags = 0;
  }
}

}  // namespace gp
