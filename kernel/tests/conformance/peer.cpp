#include "peer.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <memory>

#include "check.h"
#include "client.h"
#include "machine.h"

namespace {

enum Op : uint32_t {
  op_kfd_fd,
  op_create,
  op_destroy,
  op_update,
  op_debug,
  op_suspend,
  op_resume,
  op_ioctl,
  op_copy_fds,
  op_close,
  op_exec
};

struct Message {
  uint32_t op = 0, a = 0, b = 0, c = 0;
  int32_t result = 0;
  unsigned char data[64] = {};
};

int run(Client& client, Message& m) {
  switch (m.op) {
    case op_kfd_fd: return client.fd();
    case op_create: return client.create_queue(m.a, m.b, m.c);
    case op_destroy: return client.destroy_queue(m.a);
    case op_update: return client.update_queue(m.a, m.b, m.c);
    case op_debug: return client.enable_debugging();
    case op_suspend: return client.suspend(m.a);
    case op_resume: return client.resume(m.a);
    case op_ioctl: return client.ioctl(m.a, m.data);
    case op_copy_fds:
      if (fork() == 0) {
        // The test's end closes this socket too: it is the only thing the copy waits for.
        prctl(PR_SET_PDEATHSIG, 0);
        char byte;
        while (recv(static_cast<int>(m.b), &byte, 1, MSG_PEEK) > 0) sleep(1);
        _exit(0);
      }
      return 0;
    case op_close: return close(static_cast<int>(m.a)) == 0 ? 0 : -errno;
    case op_exec: execl("/proc/self/exe", "sleeper", "--sleep", nullptr); return -errno;
  }
  return -ENOSYS;
}

}  // namespace

int peer_main(int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_DUMPABLE, 1);  // after a change of user only root could look at it
  Client client;
  Message m;
  while (recv(socket, &m, sizeof m, 0) == sizeof m) {
    if (m.op == op_copy_fds)
      m.b = static_cast<uint32_t>(socket);
    m.result = run(client, m);
    if (send(socket, &m, sizeof m, 0) != sizeof m)
      break;
  }
  return 0;
}

Peer::Peer(User user, int inherits) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
    throw Failed("socketpair");
  pid_ = fork();
  if (pid_ == 0) {
    if (user == User::ordinary)
      become_ordinary_user();
    if (inherits >= 0)
      dup2(inherits, inherited_fd);
    int mine = dup(sockets[1]);  // without close-on-exec
    execl("/proc/self/exe", "peer", "--peer", std::to_string(mine).c_str(), nullptr);
    _exit(1);
  }
  close(sockets[1]);
  socket_ = sockets[0];
  kfd_fd_ = call(op_kfd_fd);
}

Peer::~Peer() {
  kill_now();
  close(socket_);
}

void Peer::send(uint32_t op, uint32_t a, uint32_t b, uint32_t c) {
  Message m{op, a, b, c};
  if (::send(socket_, &m, sizeof m, MSG_NOSIGNAL) != sizeof m)
    throw Failed("peer is gone");
}

int Peer::finish() {
  Message m;
  if (recv(socket_, &m, sizeof m, 0) != sizeof m)
    throw Failed("peer died");
  return m.result;
}

int Peer::call(uint32_t op, uint32_t a, uint32_t b, uint32_t c) {
  send(op, a, b, c);
  return finish();
}

int Peer::create_queue(unsigned gpu, uint32_t priority, uint32_t type) {
  return call(op_create, gpu, priority, type);
}
int Peer::destroy_queue(uint32_t id) { return call(op_destroy, id); }
int Peer::update_queue(uint32_t id, uint32_t percentage, uint32_t priority) {
  return call(op_update, id, percentage, priority);
}
int Peer::enable_debugging() { return call(op_debug); }
int Peer::suspend(uint32_t id) { return call(op_suspend, id); }
int Peer::resume(uint32_t id) { return call(op_resume, id); }
int Peer::close_fd(int fd) { return call(op_close, static_cast<uint32_t>(fd)); }
void Peer::start_destroy_queue(uint32_t id) { send(op_destroy, id, 0, 0); }
void Peer::leave_a_copy_of_every_fd() { call(op_copy_fds); }

int Peer::ioctl(unsigned long request, void* args) {
  Message m;
  m.op = op_ioctl;
  m.a = static_cast<uint32_t>(request);
  memcpy(m.data, args, _IOC_SIZE(request));
  if (::send(socket_, &m, sizeof m, MSG_NOSIGNAL) != sizeof m)
    throw Failed("peer is gone");
  if (recv(socket_, &m, sizeof m, 0) != sizeof m)
    throw Failed("peer died");
  memcpy(args, m.data, _IOC_SIZE(request));
  return m.result;
}

void Peer::exec() {
  send(op_exec, 0, 0, 0);
  // That the old image is gone shows in the command line.
  for (int i = 0; i < 5000; i++) {
    char line[400] = {};
    FILE* file = fopen(("/proc/" + std::to_string(pid_) + "/cmdline").c_str(), "r");
    if (file != nullptr) {
      size_t n = fread(line, 1, sizeof line - 1, file);
      fclose(file);
      if (n > 7 && memcmp(line, "sleeper", 7) == 0)
        return;
    }
    usleep(1000);
  }
  throw Failed("exec did not happen");
}

void Peer::kill_now() {
  if (pid_ <= 0)
    return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

int Peer::copy_of_fd(int fd) const {
  int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  int copy = static_cast<int>(syscall(SYS_pidfd_getfd, pidfd, fd, 0));
  int error = errno;
  close(pidfd);
  return copy < 0 ? -error : copy;
}
