// A private directory for as long as the demo runs.
//
// A demo that is killed by SIGKILL cannot remove its own. The next one does: a lock in the
// directory is held for as long as its process lives, so one whose lock is free is left over.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace gp::demo {

class ScratchDirectory {
 public:
  // Also removes those of this user that are left over.
  static Result<ScratchDirectory> create();
  ScratchDirectory(ScratchDirectory&& other) noexcept
      : path_(std::move(other.path_)), lock_(std::move(other.lock_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();  // removes it with all that is in it

  const std::string& path() const { return path_; }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  ScratchDirectory(std::string path, UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  std::string path_;
  UniqueFd lock_;
};

}  // namespace gp::demo
