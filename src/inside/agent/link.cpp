#include "agent/link.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "libc/clock.h"

namespace gp::agent {
namespace {

constexpr u64 kFirstRetryMs = 5, kLastRetryMs = 1000;
constexpr int kSendPatienceMs = 500;  // a daemon that does not read for so long has gone for us
constexpr u32 kMostFiles = 2;

void close_fd(int& fd) {
  if (fd >= 0) {
    close(fd);
  }
  fd = -1;
}

}  // namespace

bool Link::prepare() { return wire::socket_path(path_, sizeof path_); }

bool Link::try_connect() {
  close_fd(inotify_);
  retry_at_ns_ = kNever;
  // The watch first: a daemon that appears after the attempt must not be missed.
  const bool armed = arm_watch();
  const int error = connect_once();
  if (error == 0) {
    close_fd(inotify_);
    return true;
  }
  // Refused: bound but not yet listening, or left over from a daemon that died.
  if (!armed || error == -ECONNREFUSED || error == -EAGAIN) {
    retry_later();
  }
  return false;
}

// A few tries, further and further apart; then only a change in the directory leads to another.
void Link::retry_later() {
  retry_ms_ = retry_ms_ == 0 ? kFirstRetryMs : retry_ms_ * 2;
  if (retry_ms_ > kLastRetryMs) {
    retry_ms_ = 0;
    retry_at_ns_ = kNever;
    return;
  }
  retry_at_ns_ = monotonic_ns() + retry_ms_ * 1'000'000;
}

int Link::connect_once() {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -errno;
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  int directory = -1;
  if (strlen(path_) < sizeof address.sun_path) {
    memcpy(address.sun_path, path_, strlen(path_));
  } else if (char* slash = strrchr(path_, '/')) {
    *slash = '\0';
    directory = open(path_, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.64s", directory,
             slash + 1);
  }
  const int result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  const int error = result == 0 ? 0 : -errno;
  close_fd(directory);
  if (error == 0) {
    socket_ = fd;
  } else {
    close(fd);
  }
  return error;
}

bool Link::arm_watch() {
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (inotify_ < 0) {
    return false;
  }
  char directory[wire::kSocketPathBytes];
  memcpy(directory, path_, sizeof directory);
  while (char* slash = strrchr(directory, '/')) {
    slash[slash == directory ? 1 : 0] = '\0';
    constexpr u32 kEvents = IN_CREATE | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF;
    if (inotify_add_watch(inotify_, directory, kEvents | IN_ONLYDIR) >= 0) {
      return true;
    }
    if (slash == directory) {
      break;
    }
  }
  return false;
}

void Link::drain_watch() const {
  char events[4096];
  while (read(inotify_, events, sizeof events) > 0) {
  }
}

void Link::disconnect(bool was_good) {
  close_fd(socket_);
  close_fd(inotify_);
  if (was_good) {
    retry_ms_ = 0;
    retry_at_ns_ = 0;
    return;
  }
  arm_watch();
  retry_later();
}

void Link::close_all() {
  close_fd(socket_);
  close_fd(inotify_);
}

int Link::send(const wire::Header& message, const int* files, u32 file_count) const {
  iovec part = {const_cast<wire::Header*>(&message), message.size};
  alignas(cmsghdr) char room[CMSG_SPACE(kMostFiles * sizeof(int))] = {};
  msghdr packet = {};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  if (file_count > 0) {
    packet.msg_control = room;
    packet.msg_controllen = CMSG_SPACE(file_count * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&packet);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(file_count * sizeof(int));
    memcpy(CMSG_DATA(header), files, file_count * sizeof(int));
  }
  for (;;) {
    if (sendmsg(socket_, &packet, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
      return 0;
    }
    pollfd writable = {socket_, POLLOUT, 0};
    if (errno != EAGAIN && errno != EINTR) {
      return -errno;
    }
    if (poll(&writable, 1, kSendPatienceMs) == 0) {
      return -ETIMEDOUT;
    }
  }
}

int Link::receive(void* buffer, u32 bytes) const {
  const ssize_t size = recv(socket_, buffer, bytes, MSG_DONTWAIT | MSG_TRUNC);
  if (size <= 0) {
    return size == 0 || errno == ECONNRESET ? 0 : -errno;
  }
  wire::Header header;
  if (static_cast<size_t>(size) < sizeof header || size > static_cast<ssize_t>(bytes)) {
    return -EBADMSG;
  }
  memcpy(&header, buffer, sizeof header);
  const bool ours = header.magic == wire::kMagic && header.version == wire::kVersion &&
                    header.size == static_cast<u32>(size);
  return ours ? static_cast<int>(size) : -EBADMSG;
}

}  // namespace gp::agent
