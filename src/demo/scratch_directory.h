// A private directory for as long as the demo runs.
#pragma once

#include <string>

#include "base/result.h"

namespace gp::demo {

class ScratchDirectory {
 public:
  static Result<ScratchDirectory> create();
  ScratchDirectory(ScratchDirectory&& other) noexcept : path_(std::move(other.path_)) {
    other.path_.clear();
  }
  ScratchDirectory& operator=(ScratchDirectory&&) = delete;
  ~ScratchDirectory();  // removes it with all that is in it

  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace gp::demo
