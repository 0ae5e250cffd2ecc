#include "preload/channel.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>

#include "libc/short_slices.h"
#include "preload/device.h"

namespace vgpu::preload {
namespace {

// A thread's connection. Nodes are never freed: those of ended threads are used again.
struct Connection {
  int fd = -1;
  std::atomic<bool> taken{false};  // by a living thread
  bool busy = false;               // a call is under way
  Connection* next = nullptr;
};

constexpr int kLost = INT_MIN;  // no answer; the driver itself may answer -ENODEV

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
Connection* connections = nullptr;  // all there ever were, under mutex
int control_fd = -1;                // under mutex
pthread_once_t once = PTHREAD_ONCE_INIT;
pthread_key_t at_thread_end;

thread_local Connection* mine __attribute__((tls_model("initial-exec"))) = nullptr;

// Plain system calls where libc's wrapper is a cancellation point or can be replaced: a thread that
// is cancelled in the middle of an ioctl must not leave a half-finished exchange behind.
ssize_t send_raw(int fd, const msghdr* message) {
  ssize_t sent;
  do {
    sent = syscall(SYS_sendmsg, fd, message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent;
}

ssize_t receive_raw(int fd, msghdr* message) {
  ssize_t received;
  do {
    // MSG_TRUNC: the true length, also of what the caller does not want.
    received = syscall(SYS_recvmsg, fd, message, MSG_CMSG_CLOEXEC | MSG_TRUNC);
  } while (received < 0 && errno == EINTR);
  return received;
}

void close_raw(int& fd) {
  if (fd >= 0) {
    syscall(SYS_close, fd);
    fd = -1;
  }
}

void end_of_thread(void* value) {
  auto* connection = static_cast<Connection*>(value);
  close_raw(connection->fd);
  mine = nullptr;
  connection->busy = false;
  connection->taken.store(false, std::memory_order_release);  // pairs with take_connection
}

void before_fork() { pthread_mutex_lock(&mutex); }
void after_fork_in_parent() { pthread_mutex_unlock(&mutex); }

// The child is another process to the server: what it inherited speaks for its parent. Keeping the
// control connection open would also hide the parent's exec.
void after_fork_in_child() {
  for (Connection* it = connections; it != nullptr; it = it->next) {
    close_raw(it->fd);
    it->busy = false;
    it->taken.store(it == mine, std::memory_order_relaxed);
  }
  close_raw(control_fd);
  pthread_mutex_unlock(&mutex);
}

void initialize() {
  pthread_key_create(&at_thread_end, end_of_thread);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
  // Where Yama restricts ptrace, the server could not read the pointers inside our arguments.
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

// The server gives us files to map: only root's and our own are believed. Inside a user namespace
// others of the host look like nobody; there it is the directory that decides.
bool is_trusted(int fd) {
  constexpr uid_t kNobody = 65534;
  constexpr char kFirstNamespace[] = "user:[4026531837]";  // PROC_USER_INIT_INO, linux/proc_ns.h
  ucred server{};
  socklen_t size = sizeof server;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &server, &size) != 0) {
    return false;
  }
  char name[32] = {};
  const bool is_outside =
      server.uid == kNobody &&
      syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/ns/user", name, sizeof name - 1) > 0 &&
      strcmp(name, kFirstNamespace) != 0;
  return server.uid == 0 || server.uid == geteuid() || is_outside;
}

int connect_to_server() {
  const Device& here = *device();
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  if (fd < 0) {
    return -1;
  }
  char path[kMaxDirectory + 16];
  int length = snprintf(path, sizeof path, "%s/%s", here.directory, wire::kSocketName);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  int directory = -1;
  if (static_cast<size_t>(length) >= sizeof address.sun_path) {
    // Too long for an address: by way of the directory.
    directory = static_cast<int>(
        syscall(SYS_openat, AT_FDCWD, here.directory, O_PATH | O_DIRECTORY | O_CLOEXEC));
    length = snprintf(path, sizeof path, "/proc/self/fd/%d/%s", directory, wire::kSocketName);
  }
  memcpy(address.sun_path, path, static_cast<size_t>(length) + 1);
  long failed;
  do {
    failed = syscall(SYS_connect, fd, &address, sizeof address);
  } while (failed != 0 && errno == EINTR);
  close_raw(directory);
  if (failed != 0 || !is_trusted(fd)) {
    int unused = fd;
    close_raw(unused);
    return -1;
  }
  return move_high(fd);
}

Connection* take_connection() {
  pthread_mutex_lock(&mutex);
  Connection* found = connections;
  // pairs with the release in end_of_thread
  while (found != nullptr && found->taken.load(std::memory_order_acquire)) {
    found = found->next;
  }
  if (found == nullptr) {
    // A page of them at a time, not from malloc: the program's may be replaced or be waiting for
    // us.
    constexpr size_t page = 4096;
    void* memory = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory != MAP_FAILED) {
      auto* nodes = static_cast<Connection*>(memory);
      for (size_t i = 0; i < page / sizeof(Connection); ++i) {
        nodes[i].fd = -1;
        nodes[i].next = connections;
        connections = &nodes[i];
      }
      found = connections;
    }
  }
  if (found != nullptr) {
    found->taken.store(true, std::memory_order_relaxed);
  }
  pthread_mutex_unlock(&mutex);
  return found;
}

// The thread's connection, open; or null.
Connection* own_connection() {
  if (mine == nullptr) {
    pthread_once(&once, initialize);
    mine = take_connection();
    if (mine == nullptr) {
      return nullptr;
    }
    pthread_setspecific(at_thread_end, mine);
    // A real GPU takes no CPU away from the programs that use it: they come before its workers, but
    // not before the threads that others wait for.
    const int saved = errno;
    gp::ask_for_short_slices(5 * gp::kShortestSliceNs);
    errno = saved;
  }
  return mine;
}

ssize_t send_request(int fd, const Message& message) {
  wire::RequestHeader request;
  request.kind = message.kind;
  request.size = message.size;
  request.tid = static_cast<gp::i32>(syscall(SYS_gettid));
  request.argument = message.argument;
  request.file_device = message.file_device;
  request.file_inode = message.file_inode;
  iovec parts[2] = {{&request, sizeof request}, {const_cast<void*>(message.data), message.size}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = message.size != 0 ? 2 : 1;
  if (message.passed_fd >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(rights), &message.passed_fd, sizeof(int));
  }
  return send_raw(fd, &header);
}

// The driver's result, or kLost if the server has gone. The data goes straight to the program's
// memory: if that is not writable the kernel says EFAULT, as it does for a real ioctl.
int receive_reply(int fd, Answer& answer) {
  wire::ReplyHeader reply;
  iovec parts[2] = {{&reply, sizeof reply}, {answer.data, answer.capacity}};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = 2;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t received = receive_raw(fd, &header);
  if (received < 0 && errno == EFAULT) {
    return -EFAULT;
  }
  const cmsghdr* rights = received > 0 ? CMSG_FIRSTHDR(&header) : nullptr;
  if (rights != nullptr && rights->cmsg_type == SCM_RIGHTS) {
    memcpy(&answer.fd, CMSG_DATA(rights), sizeof(int));
  }
  if (received < static_cast<ssize_t>(wire::kReplyHeader) || reply.magic != wire::kMagic ||
      received != static_cast<ssize_t>(wire::kReplyHeader) + reply.size) {
    close_raw(answer.fd);
    return kLost;
  }
  return reply.result;
}

// One exchange on a connection that may have to be opened. A connection that fails is closed.
int exchange(int& fd, const Message& message, Answer& answer) {
  if (fd < 0) {
    fd = connect_to_server();
  }
  int result = kLost;
  if (fd >= 0 && send_request(fd, message) > 0) {
    result = receive_reply(fd, answer);
  } else if (fd >= 0 && errno == EFAULT) {
    return -EFAULT;  // nothing was sent
  }
  if (result == kLost) {
    close_raw(fd);
    report_lost_device();
    return -ENODEV;
  }
  return result;
}

int call_on_thread(const Message& message, Answer& answer) {
  Connection* connection = own_connection();
  if (connection == nullptr || connection->busy) {
    int fd = -1;  // inside a signal handler that interrupted a call, or out of memory
    const int result = exchange(fd, message, answer);
    close_raw(fd);
    return result;
  }
  connection->busy = true;
  const int result = exchange(connection->fd, message, answer);
  connection->busy = false;
  return result;
}

}  // namespace

int call(const Message& message, Answer& answer) {
  const int saved = errno;
  const int result = message.size > wire::kMaxData ? -EINVAL : call_on_thread(message, answer);
  errno = saved;
  return result;
}

int open_by_call(const Message& message, int flags) {
  Answer answer;
  const int result = call(message, answer);
  if (result < 0 || answer.fd < 0) {
    errno = result < 0 ? -result : ENODEV;
    return -1;
  }
  if (!(flags & O_CLOEXEC)) {
    fcntl(answer.fd, F_SETFD, 0);
  }
  return answer.fd;
}

int move_high(int fd) {
  constexpr int kLowest = 400;
  const int high = fcntl(fd, F_DUPFD_CLOEXEC, kLowest);
  if (high < 0) {
    return fd;  // the limit is lower than that
  }
  close_raw(fd);
  return high;
}

int attach_process() {
  pthread_once(&once, initialize);
  const int saved = errno;
  pthread_mutex_lock(&mutex);
  int result = 0;
  if (control_fd < 0) {
    Message message;
    message.kind = wire::kind_attach;
    Answer answer;
    result = exchange(control_fd, message, answer);
  }
  pthread_mutex_unlock(&mutex);
  errno = saved;
  return result;
}

}  // namespace vgpu::preload
