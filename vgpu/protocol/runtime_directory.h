// The runtime directory of one device: socket, lock, log and the tree of device files.
//
// Who holds the flock on `lock` owns the directory. The kernel drops it when the owner dies,
// whichever way, so what a dead server left behind never blocks the next one: it is removed.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_fd.h"

namespace vgpu::protocol {

class RuntimeDirectory {
 public:
  // Makes the directory (0700) if need be, locks it and removes what an earlier owner left.
  // EBUSY: a live server owns it. EPERM: it belongs to somebody else.
  static gp::Result<RuntimeDirectory> claim(std::string path);
  RuntimeDirectory(RuntimeDirectory&&) = default;
  // Removes all that the server made; the directory too if nothing else is in it.
  ~RuntimeDirectory();

  const std::string& path() const { return path_; }
  std::string below(const char* name) const { return path_ + "/" + name; }
  gp::Status write(const char* name, const std::string& text) const;

 private:
  RuntimeDirectory(std::string path, gp::UniqueFd lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}
  void clear() const;

  std::string path_;
  gp::UniqueFd lock_;
};

}  // namespace vgpu::protocol
