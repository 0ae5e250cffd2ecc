// Tells when something goes from the directory of the socket, or the directory itself: without its
// socket nobody finds the daemon, and without its lock another would start beside it.
#pragma once

#include <functional>
#include <string>

#include "base/unique_fd.h"
#include "daemon/loop.h"

namespace gp::daemon {

class DirectoryWatch {
 public:
  // Where nothing can be watched (there is a limit of inotify instances per user) nothing is told.
  DirectoryWatch(Loop& loop, std::string directory, std::function<void()> on_loss);
  DirectoryWatch(const DirectoryWatch&) = delete;
  DirectoryWatch& operator=(const DirectoryWatch&) = delete;
  ~DirectoryWatch();

  // The directory that has the name now may be another one.
  void follow();

 private:
  void on_events();

  Loop& loop_;
  const std::string directory_;
  const std::function<void()> on_loss_;
  UniqueFd inotify_;
  Loop::Token token_ = 0;
};

}  // namespace gp::daemon
