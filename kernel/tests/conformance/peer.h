// Another process that uses KFD and does what it is told, one command at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

class Peer {
 public:
  enum class User { same, ordinary };  // ordinary: without privileges
  // It inherits a file descriptor, if there is one, under the number inherited_fd.
  explicit Peer(User user = User::same, int inherits = -1);
  static constexpr int inherited_fd = 100;
  ~Peer();  // kills it
  Peer(const Peer&) = delete;

  pid_t pid() const { return pid_; }

  // As in Client, carried out by the peer.
  int create_queue(unsigned gpu, uint32_t priority, uint32_t type = 2);
  int destroy_queue(uint32_t id);
  int update_queue(uint32_t id, uint32_t percentage, uint32_t priority);
  int enable_debugging();
  int suspend(uint32_t id);
  int resume(uint32_t id);
  int close_fd(int fd);
  // An ioctl whose arguments hold no pointers.
  int ioctl(unsigned long request, void* args);

  // Starts a command without waiting for its end; finish() waits.
  void start_destroy_queue(uint32_t id);
  int finish();

  // The peer forks a child that keeps copies of all its file descriptors until the test ends.
  void leave_a_copy_of_every_fd();
  void exec();  // the peer becomes a program that only sleeps
  void kill_now();

  // Copies of file descriptors of the peer, got with pidfd_getfd(2).
  int copy_of_fd(int fd) const;
  int copy_of_kfd_fd() const { return copy_of_fd(kfd_fd_); }

 private:
  int call(uint32_t op, uint32_t a = 0, uint32_t b = 0, uint32_t c = 0);
  void send(uint32_t op, uint32_t a, uint32_t b, uint32_t c);
  pid_t pid_ = -1;
  int socket_ = -1;
  int kfd_fd_ = -1;
};

// The other side: main() of the peer.
int peer_main(int socket);
