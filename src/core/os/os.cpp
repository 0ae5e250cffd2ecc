#include "os/os.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "base/files.h"

namespace gp {
namespace {

Error failed(const char* action, const std::string& path) {
  return Error{errno, fmt::format("{} {}", action, path), ""};
}

bool is_number(std::string_view name) {
  return !name.empty() &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

Result<UniqueFd> open_path(const std::string& path, int flags) {
  for (;;) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    if (fd >= 0) {
      return UniqueFd(fd);
    }
    if (errno != EINTR) {
      return failed("open", path);
    }
  }
}

class SystemOs final : public Os {
 public:
  Result<std::string> read_file(const std::string& path) override { return gp::read_file(path); }
  Result<std::string> read_start(const std::string& path, std::size_t most) override {
    return gp::read_file(path, most);
  }

  Result<std::vector<std::string>> list_directory(const std::string& path) override {
    DIR* directory = ::opendir(path.c_str());
    if (!directory) {
      return failed("list", path);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = ::readdir(directory)) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        names.emplace_back(name);
      }
    }
    const int reason = errno;
    ::closedir(directory);
    if (reason != 0) {
      return Error{reason, fmt::format("list {}", path), ""};
    }
    std::sort(names.begin(), names.end(), name_before);
    return names;
  }

  Result<std::string> read_link(const std::string& path) override {
    std::string target(256, '\0');
    for (;;) {
      const ssize_t got = ::readlink(path.c_str(), target.data(), target.size());
      if (got < 0) {
        return failed("read link", path);
      }
      if (static_cast<std::size_t>(got) < target.size()) {
        target.resize(static_cast<std::size_t>(got));
        return target;
      }
      target.resize(2 * target.size());
    }
  }

  Result<FileStatus> status(const std::string& path) override {
    struct stat file;
    struct statfs system;
    if (::stat(path.c_str(), &file) != 0 || ::statfs(path.c_str(), &system) != 0) {
      return failed("look at", path);
    }
    return FileStatus{.mode = file.st_mode,
                      .uid = file.st_uid,
                      .gid = file.st_gid,
                      .device = file.st_dev,
                      .node = S_ISCHR(file.st_mode) ? file.st_rdev : 0,
                      .inode = file.st_ino,
                      .is_sysfs = system.f_type == SYSFS_MAGIC};
  }

  Result<UniqueFd> open(const std::string& path, int flags) override {
    return open_path(path, flags);
  }
};

}  // namespace

bool name_before(std::string_view left, std::string_view right) {
  const bool numbers = is_number(left) && is_number(right);
  if (numbers && left.size() != right.size()) {
    return left.size() < right.size();
  }
  return left < right;
}

Os& system_os() {
  static SystemOs os;
  return os;
}

}  // namespace gp
