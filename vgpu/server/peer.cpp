#include "server/peer.h"

#include <dirent.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/log.h"
#include "libc/real_time.h"

namespace vgpu::server {
namespace {

// The thread's id in its innermost pid namespace: the last number of NSpid. -1: no such thread.
pid_t innermost_id(pid_t pid, std::string_view tid) {
  std::ifstream status(fmt::format("/proc/{}/task/{}/status", pid, tid));
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("NSpid:")) {
      const std::size_t last = line.find_last_of("\t ") + 1;
      pid_t id = -1;
      std::from_chars(line.data() + last, line.data() + line.size(), id);
      return id;
    }
  }
  return -1;
}

}  // namespace

bool PeerMemory::read(u64 address, void* out, u64 size) {
  iovec local = {out, size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  return ::process_vm_readv(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

bool PeerMemory::write(u64 address, const void* in, u64 size) {
  iovec local = {const_cast<void*>(in), size};
  iovec remote = {reinterpret_cast<void*>(address), size};
  return ::process_vm_writev(pid_, &local, 1, &remote, 1, 0) == static_cast<ssize_t>(size);
}

std::optional<driver::FileId> PeerFiles::find(u32 fd) {
  struct stat status {};
  if (::stat(fmt::format("/proc/{}/fd/{}", tid_, fd).c_str(), &status) == 0) {
    return driver::FileId{status.st_dev, status.st_ino};
  }
  if (errno != ENOENT) {
    log_warning("thread {}: its file {} cannot be looked at: {}", tid_, fd, std::strerror(errno));
  }
  return std::nullopt;
}

Result<pid_t> find_thread(pid_t pid, pid_t tid) {
  // The same namespace, by far the most frequent case: the id is what it says.
  if (innermost_id(pid, std::to_string(tid)) == tid) {
    return tid;
  }
  const std::string path = fmt::format("/proc/{}/task", pid);
  const std::unique_ptr<DIR, int (*)(DIR*)> tasks(::opendir(path.c_str()), ::closedir);
  if (tasks) {
    while (const dirent* entry = ::readdir(tasks.get())) {
      pid_t outer = 0;
      const std::string_view name = entry->d_name;
      std::from_chars(name.data(), name.data() + name.size(), outer);
      if (outer > 0 && innermost_id(pid, name) == tid) {
        return outer;
      }
    }
  }
  return Error{ESRCH, fmt::format("thread {} of process {}", tid, pid), ""};
}

Result<pid_t> PeerThread::find(pid_t pid, pid_t tid) {
  if (claimed_ != tid || tid == 0) {
    found_ = TRY(find_thread(pid, tid));
    claimed_ = tid;
  }
  return found_;
}

void PeerThread::follow_priority(pid_t tid) {
  const bool wanted = gp::is_real_time_thread(tid);
  if (wanted && !entered_) {
    entered_ = gp::enter_real_time();
  } else if (!wanted && entered_) {
    gp::leave_real_time();
    entered_ = false;
  }
}

}  // namespace vgpu::server
