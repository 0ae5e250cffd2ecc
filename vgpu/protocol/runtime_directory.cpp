#include "protocol/runtime_directory.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "protocol/wire.h"

namespace vgpu::protocol {
namespace {

using gp::Error;
using gp::Result;
using gp::Status;
using gp::UniqueFd;

constexpr const char* kLockName = "lock";

Error failure(const std::string& what) { return Error{errno, what, ""}; }

Status make_private(const std::string& path) {
  std::error_code code;
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  if (!parent.empty()) {
    std::filesystem::create_directories(parent, code);
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return failure("create " + path);
  }
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return failure(path);
  }
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid()) {
    return Error{EPERM, path + " is not a directory of ours", "remove it or choose another"};
  }
  if (::chmod(path.c_str(), 0700) != 0) {
    return failure("chmod " + path);
  }
  return gp::ok();
}

bool is_still(int fd, const std::string& path) {
  struct stat opened {
  }, named{};
  return ::fstat(fd, &opened) == 0 && ::stat(path.c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// An owner that ends removes its lock file while it holds the lock: a lock on a file that has lost
// its name is worth nothing, so look again.
Result<UniqueFd> lock(const std::string& path) {
  for (;;) {
    UniqueFd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) {
      return failure(path);
    }
    if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) {
        return Error{EBUSY, path + " is held by a running vgpud", ""};
      }
      return failure("lock " + path);
    }
    if (is_still(fd.get(), path)) {
      return fd;
    }
  }
}

}  // namespace

Result<RuntimeDirectory> RuntimeDirectory::claim(std::string path) {
  for (;;) {
    TRY(make_private(path));
    Result<UniqueFd> held = lock(path + "/" + kLockName);
    if (!held && held.error().code == ENOENT) {
      continue;  // removed by its last owner between the two steps
    }
    if (!held) {
      return held.error();
    }
    RuntimeDirectory directory(std::move(path), std::move(*held));
    directory.clear();
    return directory;
  }
}

RuntimeDirectory::~RuntimeDirectory() {
  if (!lock_) {
    return;  // moved from
  }
  clear();
  std::error_code code;
  std::filesystem::remove(below("log"), code);
  std::filesystem::remove(below(kLockName), code);
  ::rmdir(path_.c_str());
}

void RuntimeDirectory::clear() const {
  for (const char* name : {wire::kSocketName, wire::kMarketingName, wire::kTreeName}) {
    std::error_code code;
    std::filesystem::remove_all(below(name), code);
    if (code) {
      gp::log_warning("cannot remove {}: {}", below(name), code.message());
    }
  }
}

Status RuntimeDirectory::write(const char* name, const std::string& text) const {
  const std::string path = below(name);
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return failure("write " + path);
  }
  return gp::ok();
}

}  // namespace vgpu::protocol
