#include "demo/scratch_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace gp::demo {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "gpreempt-demo.";
// It also tells our directories from others that happen to be called so: without it, nothing is
// ever removed.
constexpr char kLock[] = ".gpreempt-in-use";

std::string place_of_all() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr && directory[0] == '/' ? directory : "/tmp";
}

bool is_own_directory(const fs::path& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid();
}

// Whoever holds the lock may remove the directory, and nobody else: between two who look at the
// same time, the other finds it locked, or gone.
void remove_if_left_over(const fs::path& path) {
  const UniqueFd lock(::open((path / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
  if (lock && ::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;  // the next demo tries again
    fs::remove_all(path, ignored);
  }
}

void remove_left_over_in(const std::string& place) {
  std::error_code code;  // a place that cannot be listed has nothing that we could remove
  std::vector<fs::path> candidates;
  for (fs::directory_iterator entry(place, code), end; !code && entry != end;
       entry.increment(code)) {
    if (entry->path().filename().string().starts_with(kPrefix) && is_own_directory(entry->path())) {
      candidates.push_back(entry->path());
    }
  }
  for (const fs::path& path : candidates) {
    remove_if_left_over(path);
  }
}

// Empty if another demo took the new directory for one that is left over: between the moments when
// the lock's file is there and when it is held.
Result<UniqueFd> hold_lock(const std::string& directory) {
  const std::string path = fmt::format("{}/{}", directory, kLock);
  UniqueFd lock(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock) {
    return Error{errno, fmt::format("make {}", path), ""};
  }
  struct stat status {};
  if (::flock(lock.get(), LOCK_EX) != 0 || ::fstat(lock.get(), &status) != 0) {
    return Error{errno, fmt::format("lock {}", path), "does TMPDIR's file system have locks?"};
  }
  return status.st_nlink > 0 ? std::move(lock) : UniqueFd();
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::create() {
  const std::string place = place_of_all();
  remove_left_over_in(place);
  for (;;) {
    std::string path = fmt::format("{}/{}XXXXXX", place, kPrefix);
    if (::mkdtemp(path.data()) == nullptr) {
      return Error{errno, fmt::format("make a directory {}", path), "is TMPDIR writable?"};
    }
    Result<UniqueFd> lock = hold_lock(path);
    if (!lock) {
      std::error_code ignored;  // what went wrong is told already
      fs::remove_all(path, ignored);
      return std::move(lock.error());
    }
    if (*lock) {
      return ScratchDirectory(std::move(path), std::move(*lock));
    }
  }
}

ScratchDirectory::~ScratchDirectory() {
  if (!path_.empty()) {
    std::error_code code;
    fs::remove_all(path_, code);
  }
}

}  // namespace gp::demo
