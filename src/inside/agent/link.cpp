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

#include <algorithm>
#include <atomic>

#include "libc/clock.h"

namespace gp::agent {
namespace {

constexpr u64 kFirstRetryMs = 5, kLastRetryMs = 1000;
constexpr int kSendPatienceMs = 500;  // a daemon that does not read for so long has gone for us

// Whether there are users outside of our user namespace, who then all look the same.
bool is_in_user_namespace() {
  char text[64] = {};
  const int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);
  const ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
  if (fd >= 0) {
    close(fd);
  }
  unsigned inside = 0, outside = 0, count = 0;
  return size > 0 && sscanf(text, "%u %u %u", &inside, &outside, &count) == 3 &&
         count != 0xffffffff;
}

// The queues of this process are stopped at the word of root or of our own user only. Root of the
// host looks like nobody from inside a user namespace.
bool is_trusted(int socket) {
  constexpr uid_t kNobody = 65534;  // /proc/sys/kernel/overflowuid, unless somebody has changed it
  ucred peer = {};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
    return false;
  }
  return peer.uid == 0 || peer.uid == geteuid() || (peer.uid == kNobody && is_in_user_namespace());
}

// Whether another try may have a better end though nothing in the directory changes. Refused: bound
// but not yet listening, or left over from a daemon that died. Others: no memory, no descriptors.
bool may_pass(int error) {
  return error != -ENOENT && error != -ENOTDIR && error != -EACCES && error != -EPERM;
}

void tell_of_distrust(const char* path) {
  static std::atomic<bool> told{false};  // each part of the process has a link
  if (!told.exchange(true)) {
    dprintf(STDERR_FILENO, "gpreempt: %s is neither root's nor this user's: not used\n", path);
  }
}

void close_fd(int& fd) {
  if (fd >= 0) {
    close(fd);
  }
  fd = -1;
}

}  // namespace

bool Link::prepare() {
  const char* second = wire::second_socket_path();
  snprintf(second_path_, sizeof second_path_, "%s", second != nullptr ? second : "");
  return wire::socket_path(path_, sizeof path_);
}

bool Link::try_connect() {
  close_fd(inotify_);
  retry_at_ns_ = kNever;
  // The watch first: a daemon that appears after the attempt must not be missed.
  const bool armed = arm_watch();
  int error = connect_once(path_);
  if (error != 0 && second_path_[0] != '\0') {
    const int second_error = connect_once(second_path_);
    error = may_pass(error) && second_error != 0 ? error : second_error;
  }
  if (error == 0) {
    close_fd(inotify_);
    return true;
  }
  if (!armed || may_pass(error)) {
    retry_later(armed);
  }
  return false;
}

// A few tries, further and further apart; then only a change in the directory leads to another, or,
// where the directory cannot be watched, one try a second: a connect() costs microseconds.
void Link::retry_later(bool armed) {
  retry_ms_ = retry_ms_ == 0 ? kFirstRetryMs : retry_ms_ * 2;
  if (retry_ms_ > kLastRetryMs && armed) {
    retry_ms_ = 0;
    retry_at_ns_ = kNever;
    return;
  }
  retry_ms_ = std::min(retry_ms_, kLastRetryMs);
  retry_at_ns_ = monotonic_ns() + retry_ms_ * 1'000'000;
}

int Link::connect_once(char* path) {
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) {
    return -errno;
  }
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  int directory = -1;
  if (strlen(path) < sizeof address.sun_path) {
    memcpy(address.sun_path, path, strlen(path));
  } else if (char* slash = strrchr(path, '/')) {
    *slash = '\0';
    directory = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
    *slash = '/';
    snprintf(address.sun_path, sizeof address.sun_path, "/proc/self/fd/%d/%.64s", directory,
             slash + 1);
  }
  const int result = connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address);
  int error = result == 0 ? 0 : -errno;
  close_fd(directory);
  if (error == 0 && !is_trusted(fd)) {
    error = -EPERM;
    tell_of_distrust(path);
  }
  if (error == 0) {
    socket_ = fd;
  } else {
    close(fd);
  }
  return error;
}

bool Link::arm_watch() {
  inotify_ = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  return inotify_ >= 0 && watch_directory_of(path_) &&
         (second_path_[0] == '\0' || watch_directory_of(second_path_));
}

bool Link::watch_directory_of(const char* path) const {
  char directory[wire::kSocketPathBytes];
  snprintf(directory, sizeof directory, "%s", path);
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
  retry_later(arm_watch());
}

void Link::close_all() {
  close_fd(socket_);
  close_fd(inotify_);
}

int Link::send(const wire::Header& message) const {
  for (;;) {
    if (::send(socket_, &message, message.size, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
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

int Link::receive(void* buffer, u32 bytes, int (&files)[2]) const {
  iovec part = {buffer, bytes};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof files)] = {};
  msghdr packet = {};
  packet.msg_iov = &part;
  packet.msg_iovlen = 1;
  packet.msg_control = room;
  packet.msg_controllen = sizeof room;
  files[0] = files[1] = -1;
  const ssize_t size = recvmsg(socket_, &packet, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
  if (size <= 0) {
    return size == 0 || errno == ECONNRESET ? 0 : -errno;
  }
  const cmsghdr* sent = CMSG_FIRSTHDR(&packet);
  if (sent != nullptr && sent->cmsg_level == SOL_SOCKET && sent->cmsg_type == SCM_RIGHTS) {
    memcpy(files, CMSG_DATA(sent), sent->cmsg_len - CMSG_LEN(0));
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
