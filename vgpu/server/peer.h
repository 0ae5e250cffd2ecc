// What the server does to a client from outside: reads and writes its memory, finds its threads.
#pragma once

#include <sys/types.h>

#include "base/result.h"
#include "driver/driver.h"

namespace vgpu::server {

// The memory of a client, for pointers inside ioctl arguments. Needs the right to ptrace it, which
// libvgpu.so grants where Yama asks for it.
class PeerMemory : public driver::UserMemory {
 public:
  explicit PeerMemory(pid_t pid) : pid_(pid) {}
  bool read(u64 address, void* out, u64 size) override;
  bool write(u64 address, const void* in, u64 size) override;

 private:
  pid_t pid_;
};

// The open files of a client, by number. It waits in its call meanwhile; a number that another of
// its threads closes is found or not, as in the kernel.
class PeerFiles : public driver::UserFiles {
 public:
  explicit PeerFiles(pid_t tid) : tid_(tid) {}
  std::optional<driver::FileId> find(u32 fd) override;

 private:
  pid_t tid_;
};

// The id here of the thread that calls itself `tid` in its own pid namespace. ESRCH if process
// `pid` has no such thread.
Result<pid_t> find_thread(pid_t pid, pid_t tid);

// The same, remembered: a connection belongs to one thread.
class PeerThread {
 public:
  Result<pid_t> find(pid_t pid, pid_t tid);
  // In the kernel an ioctl runs at its caller's priority. Here the calling thread runs it: it is
  // real-time if `tid`, which was found, is. It stays so until the next call, so that this finds it
  // awake soon.
  void follow_priority(pid_t tid);

 private:
  pid_t claimed_ = 0, found_ = 0;
  bool entered_ = false;
};

}  // namespace vgpu::server
