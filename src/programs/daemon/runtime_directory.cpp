#include "daemon/runtime_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace gp::daemon {

bool is_at(const std::string& path, const UniqueFd& file) {
  struct stat there {
  }, open{};
  return ::lstat(path.c_str(), &there) == 0 && ::fstat(file.get(), &open) == 0 &&
         there.st_dev == open.st_dev && there.st_ino == open.st_ino;
}

Result<RuntimeDirectory> claim_directory(const std::string& socket_path) {
  const std::filesystem::path path(socket_path);
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  std::error_code code;
  std::filesystem::create_directories(parent, code);
  if (code) {
    return Error{code.value(), "make " + parent.string(), "or name another socket: --socket"};
  }
  RuntimeDirectory directory{
      parent.string(), socket_path, socket_path + ".journal", socket_path + ".lock", {}};
  directory.lock_file.reset(
      ::open(directory.lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  // Whoever can open the file, if only to read it, can take the lock; one from before is changed.
  if (!directory.lock_file || ::fchmod(directory.lock_file.get(), 0600) != 0) {
    return Error{errno, "open " + directory.lock, "or name another socket: --socket"};
  }
  if (::flock(directory.lock_file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) {
      return Error{errno, "lock " + directory.lock, "or name another socket: --socket"};
    }
    return Error{EEXIST, "another gpreemptd listens on " + socket_path,
                 "stop it, or name another socket: --socket"};
  }
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(directory.lock_file.get(), 0) != 0 ||
      ::pwrite(directory.lock_file.get(), pid.data(), pid.size(), 0) < 0) {
    return Error{errno, "write " + directory.lock, ""};
  }
  return directory;
}

}  // namespace gp::daemon
