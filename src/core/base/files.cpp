#include "base/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "base/unique_fd.h"

namespace gp {
namespace {

Status write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t count = ::write(fd, content.data(), content.size());
    if (count < 0) {
      if (errno == EINTR) {
        continue;
      }
      return Error{errno, fmt::format("cannot write {}", path), ""};
    }
    content.remove_prefix(static_cast<std::size_t>(count));
  }
  return ok();
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::size_t most) {
  UniqueFd file;
  do {
    file.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  } while (!file && errno == EINTR);
  if (!file) {
    return Error{errno, fmt::format("cannot open {}", path), ""};
  }
  std::string content;
  char part[65536];
  for (;;) {
    const ssize_t count = ::read(file.get(), part, std::min(sizeof part, most - content.size()));
    if (count == 0) {
      return content;
    }
    if (count > 0) {
      content.append(part, static_cast<std::size_t>(count));
    } else if (errno != EINTR) {
      return Error{errno, fmt::format("cannot read {}", path), ""};
    }
  }
}

Status write_file(const std::string& path, std::string_view content) {
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  UniqueFd file(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file) {
    return Error{errno, fmt::format("cannot write {}", path), ""};
  }
  Status written = write_all(file.get(), content, path);
  if (written && std::rename(unfinished.c_str(), path.c_str()) != 0) {
    written = Error{errno, fmt::format("cannot write {}", path), ""};
  }
  if (!written) {
    ::unlink(unfinished.c_str());
  }
  return written;
}

}  // namespace gp
